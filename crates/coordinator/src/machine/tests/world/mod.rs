//! What the machine is tested in: a toy problem, workers that compute, their disks, an archive.

pub(crate) mod depot;
pub(crate) mod labour;
pub(crate) mod sim;
pub(crate) mod toy;
pub(crate) mod workers;
