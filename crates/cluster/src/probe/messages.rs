//! Every message: protobuf, then the checks of each field, and the way back.

use keima_coordinator::{
    Failure, Grant, Hello, Housekeeping, JobSpec, JobStatus, Outcome, Plan, Running, Verdict, Welcome, WorkerStatus,
};
use keima_orders::{AttemptId, Holder, InputRun};
use keima_runs::{RunManifest, TaskManifest};
use keima_wire::Message;

use crate::transport::convert;
use crate::transport::convert::Wire;

/// Decodes a message, whose kind the first byte chooses, and converts it as a server or a client does. A word that is
/// accepted must survive the way back. Returns whether it was accepted.
pub fn message(bytes: &[u8]) -> bool {
    let Some((kind, bytes)) = bytes.split_first() else { return false };
    match kind % 16 {
        0 => there_and_back::<Hello>(bytes),
        1 => there_and_back::<Welcome>(bytes),
        2 => there_and_back::<Failure>(bytes),
        3 => there_and_back::<TaskManifest>(bytes),
        4 => there_and_back::<Grant>(bytes),
        5 => there_and_back::<JobSpec>(bytes),
        6 => there_and_back::<JobStatus>(bytes),
        7 => there_and_back::<WorkerStatus>(bytes),
        8 => there_and_back::<Housekeeping>(bytes),
        9 => there_and_back::<(Verdict, Housekeeping)>(bytes),
        10 => there_and_back::<Outcome>(bytes),
        11 => there_and_back::<Plan>(bytes),
        12 => there_and_back::<InputRun>(bytes),
        13 => there_and_back::<RunManifest>(bytes) || there_and_back::<Holder>(bytes),
        14 => there_and_back::<Running>(bytes) || there_and_back::<AttemptId>(bytes),
        _ => names(bytes),
    }
}

fn there_and_back<T: Wire>(bytes: &[u8]) -> bool
where
    T::Message: Message + Default,
{
    let Ok(Ok(word)) = T::Message::decode(bytes).map(T::from_wire) else { return false };
    let told = word.to_wire().encode_to_vec();
    let again = T::Message::decode(&told[..]).map(T::from_wire);
    let Ok(Ok(again)) = again else { panic!("what was accepted is refused on the way back: {told:x?}") };
    assert_eq!(again.to_wire().encode_to_vec(), told, "a word changes on the way");
    true
}

fn names(bytes: &[u8]) -> bool {
    let texts: Vec<String> =
        bytes.split(|&byte| byte == b'\n').map(|t| String::from_utf8_lossy(t).into_owned()).collect();
    let worker = texts.first().cloned().unwrap_or_default();
    convert::worker_id("probe", worker).is_ok() | convert::run_ids("probe", texts).is_ok()
}
