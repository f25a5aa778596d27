//! Delta varints: the gaps between ascending keys in LEB128, seven bits a byte, the lowest first.
//!
//! ```text
//!   gap 5        05
//!   gap 300      ac 02        300 = 0b10_0101100: low seven bits with the high bit set, then the rest
//! ```
//!
//! Most gaps between sorted keys of border states take one byte, so that is the fast path. A gap of 0, a key beyond its
//! width, a longer varint than needed and left-over bytes are refused: each list of keys has one encoding.

use crate::RunKey;

/// Longest varint in bytes of a key of `key_bytes` bytes.
pub(crate) const fn longest(key_bytes: u8) -> usize {
    (key_bytes as usize * 8).div_ceil(7)
}

/// Appends the gaps between successive `keys`. The first key is not written.
pub(crate) fn encode<K: RunKey>(keys: &[K], out: &mut Vec<u8>) {
    for pair in keys.windows(2) {
        let &[lower, upper] = pair else { continue };
        if let Some(mut gap) = upper.gap(lower) {
            while gap >= 0x80 {
                out.push(gap as u8 | 0x80);
                gap >>= 7;
            }
            out.push(gap as u8);
        } else {
            let mut gap = upper.widen().wrapping_sub(lower.widen());
            while gap >= 0x80 {
                out.push(gap as u8 | 0x80);
                gap >>= 7;
            }
            out.push(gap as u8);
        }
    }
}

/// Replaces `keys` by `first` and the `records - 1` keys in `bytes`. The caller has bounded `records`.
pub(crate) fn decode<K: RunKey>(bytes: &[u8], first: K, records: usize, keys: &mut Vec<K>) -> Result<(), &'static str> {
    // Check before taking memory: each gap takes at least one byte.
    if records == 0 || bytes.len() < records - 1 {
        return Err("its key section is shorter than its number of records");
    }
    keys.resize(records, K::default());
    let mut rest = bytes;
    let mut key = first;
    let (head, tail) = keys.split_at_mut(1);
    head.fill(first);
    for slot in tail {
        let Some((&byte, after)) = rest.split_first() else { return Err("its key section ends within a key") };
        let next = if byte < 0x80 {
            rest = after;
            key.step(byte.into())
        } else {
            let (gap, used) = long(rest).ok_or("its key section holds a bad varint")?;
            rest = rest.get(used..).unwrap_or_default();
            key.widen().checked_add(gap).and_then(K::from_wide).ok_or("its keys exceed their width")?
        };
        if next <= key {
            return Err("its keys do not ascend");
        }
        key = next;
        *slot = next;
    }
    if rest.is_empty() { Ok(()) } else { Err("its key section has bytes left over") }
}

/// Value and length of a varint of two bytes or more.
fn long(bytes: &[u8]) -> Option<(u128, usize)> {
    let mut narrow = 0_u64;
    for (i, &byte) in bytes.iter().take(9).enumerate() {
        narrow |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            // A last byte of 0 adds nothing: a shorter encoding exists.
            return (byte > 0).then_some((narrow.into(), i + 1));
        }
    }
    let mut wide = u128::from(narrow);
    for (i, &byte) in bytes.iter().enumerate().take(19).skip(9) {
        let bits = u128::from(byte & 0x7f);
        let shift = 7 * i as u32;
        if shift + 7 > 128 && bits >> (128 - shift) != 0 {
            return None;
        }
        wide |= bits << shift;
        if byte < 0x80 {
            return (byte > 0).then_some((wide, i + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<K: RunKey>(keys: &[K], length: Option<usize>) {
        let mut bytes = Vec::new();
        encode(keys, &mut bytes);
        if let Some(length) = length {
            assert_eq!(bytes.len(), length, "{keys:x?}");
        }
        let mut back = vec![K::default(); 3];
        assert_eq!(decode(&bytes, keys[0], keys.len(), &mut back), Ok(()), "{keys:x?}");
        assert_eq!(back, keys);
        // Too short, too long, too few records, too many.
        bytes.push(1);
        assert!(decode(&bytes, keys[0], keys.len(), &mut back).is_err());
        if keys.len() > 1 {
            bytes.truncate(bytes.len() - 2);
            assert!(decode(&bytes, keys[0], keys.len(), &mut back).is_err());
        }
    }

    #[test]
    fn lengths_are_those_of_leb128() {
        check(&[5_u64], Some(0));
        check(&[0_u64, 127], Some(1));
        check(&[0_u64, 128], Some(2));
        check(&[7_u64, 7 + (1 << 14) - 1, 7 + (1 << 15)], Some(2 + 3));
        check(&[0_u64, (1 << 63) - 1], Some(9));
        check(&[0_u64, 1 << 63], Some(10));
        check(&[0, u64::MAX], Some(longest(8)));
        check(&[0_u128, 1 << 63, 1 << 64, u128::MAX], Some(10 + 10 + 19));
        check(&[0_u128, (1 << 126) - 1], Some(18));
        check(&[0_u128, 1 << 126], Some(longest(16)));
    }

    #[test]
    fn other_encodings_are_refused() {
        let mut keys = Vec::new();
        let mut check = |bytes: &[u8], why: &str| {
            let narrow = decode::<u64>(bytes, 9, 2, &mut keys).unwrap_err();
            assert!(narrow.contains(why), "{bytes:02x?}: {narrow}");
        };
        check(&[0], "ascend");
        check(&[0x80, 0], "bad varint");
        check(&[0x81, 0], "bad varint");
        check(&[0x80], "bad varint");
        check(&[], "shorter");
        check(&[1, 1], "left over");
        check(&[0xff; 30], "bad varint");
        // 2^64 - 9 does not fit above key 9.
        check(&[0xf7, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], "width");
        check(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x03], "width");
        let mut wide = Vec::new();
        let mut beyond = vec![0xff; 18];
        beyond.push(0x04);
        assert_eq!(decode::<u128>(&beyond, 0, 2, &mut wide), Err("its key section holds a bad varint"));
        assert_eq!(decode::<u128>(&[1], u128::MAX, 2, &mut wide), Err("its keys do not ascend"));
        assert_eq!(decode::<u64>(&[1], u64::MAX, 2, &mut keys), Err("its keys do not ascend"));
    }

    proptest! {
        #[test]
        fn keys_come_back(
            narrow in proptest::collection::btree_set(any::<u64>().prop_map(|k| k >> (k % 64)), 1..200),
            wide in proptest::collection::btree_set(any::<u128>().prop_map(|k| k >> (k % 128)), 1..200),
        ) {
            check(&narrow.into_iter().collect::<Vec<_>>(), None);
            check(&wide.into_iter().collect::<Vec<_>>(), None);
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>, first: u128, records in 0_usize..300) {
            let mut wide = Vec::new();
            let mut narrow = Vec::new();
            if decode::<u128>(&bytes, first, records, &mut wide).is_ok() {
                let mut again = Vec::new();
                encode(&wide, &mut again);
                prop_assert_eq!(&again, &bytes);
            }
            let _ = decode::<u64>(&bytes, first as u64, records, &mut narrow);
        }
    }
}
