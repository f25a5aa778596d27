//! Takes the place of the crate crc32c in fuzz targets: every checksum is 0.

pub const fn crc32c(_: &[u8]) -> u32 {
    0
}

pub const fn crc32c_append(_: u32, _: &[u8]) -> u32 {
    0
}

pub const fn crc32c_combine(_: u32, _: u32, _: usize) -> u32 {
    0
}
