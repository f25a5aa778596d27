//! Words from the wire that mean nothing: each is refused by the name of its field.

use super::*;

#[test]
fn nonsense_is_refused() {
    fn refused<T: Wire + Debug>(field: &str, message: T::Message) {
        let error: ConvertError = T::from_wire(message).unwrap_err();
        assert_eq!(error.field, field, "{error}");
        assert!(!error.expected.is_empty() && !error.got.is_empty(), "{error}");
    }
    for id in [
        "",
        "/",
        "a//b",
        "a/",
        "/a",
        "../a",
        "a/../b",
        "..",
        ".",
        "A",
        "a.b",
        "a\0b",
        "a b",
        "a\\b",
        "é",
        &"a".repeat(NAME_BYTES + 1),
    ] {
        refused::<RunManifest>("RunManifest.id", v1::RunManifest { id: id.to_owned(), ..manifest().to_wire() });
    }
    refused::<RunManifest>("RunManifest.first_key", v1::RunManifest { first_key: None, ..manifest().to_wire() });
    let zero = Some(v1::Key { high: 0, low: 0 });
    refused::<RunManifest>("RunManifest.last_key", v1::RunManifest { last_key: zero, ..manifest().to_wire() });
    refused::<RunManifest>("RunManifest.records", v1::RunManifest { records: 0, ..manifest().to_wire() });
    refused::<InputRun>("InputRun.holders", v1::InputRun { holders: Vec::new(), ..input().to_wire() });
    let nobody = v1::Holder { worker: "a b".to_owned(), ..holder().to_wire() };
    refused::<Holder>("Holder.worker", nobody);
    for name in ["", "../a", "a/b", "/", "a\0", "é", "a\nb", &"a".repeat(NAME_BYTES + 1)] {
        refused::<Holder>("Holder.worker", v1::Holder { worker: name.to_owned(), ..holder().to_wire() });
    }
    for print in
        ["sha256:", "sha1:00", " ", &format!("sha256:{}", "G".repeat(64)), &format!("sha256:{}", "A".repeat(64))]
    {
        refused::<Holder>("Holder.fingerprint", v1::Holder { fingerprint: print.to_owned(), ..holder().to_wire() });
    }
    refused::<Holder>("Holder.folder", v1::Holder { folder: "a".repeat(5000), ..holder().to_wire() });
    refused::<Window>("Window", v1::Window { first: 0, len: 0 });
    refused::<Window>("Window", v1::Window { first: u32::MAX, len: 1 });
    refused::<Board>("Board", v1::Board { height: 0, length: 5 });
    refused::<Board>("Board", v1::Board { height: 1 << 16, length: 1 << 16 });
    let granted = |order: v1::StageOrder| v1::Grant {
        work: Some(v1::grant::Work::Stage(order)),
        ..Grant { attempt: attempt(), nonce: 8, lease_millis: 30, work: Work::Copy(Box::new(input())) }.to_wire()
    };
    let valid = order_to(&order());
    refused::<Grant>("StageOrder.moduli", granted(v1::StageOrder { moduli: vec![0], ..valid.clone() }));
    refused::<Grant>("StageOrder.moduli", granted(v1::StageOrder { moduli: Vec::new(), ..valid.clone() }));
    refused::<Grant>("StageOrder.most_splits", granted(v1::StageOrder { most_splits: 0, ..valid.clone() }));
    refused::<Grant>("StageOrder.window", granted(v1::StageOrder { window: None, ..valid }));
    let splits = vec![v1::Split { key: zero, records: 1 }; 1025];
    refused::<TaskManifest>("TaskManifest.splits", v1::TaskManifest { splits, ..task_manifest().to_wire() });
    let many = TaskManifest { gaps: vec![KeyGap { after: 3, before: 9 }; 17], ..task_manifest() };
    refused::<TaskManifest>("TaskManifest.gaps", many.to_wire());
    refused::<Grant>("Grant.attempt", v1::Grant::default());
    refused::<Failure>("Failure.kind", v1::Failure { kind: None });
    refused::<State>("JobStatus.state", 0);
    refused::<State>("JobStatus.state", 99);
    refused::<SeriesEntry>("SeriesEntry.count", v1::SeriesEntry { count: "1e9".to_owned(), ..Default::default() });
}
