use http::header::{LINK, LOCATION, SET_COOKIE};
use proptest::{collection::vec, prelude::*};

use super::*;

fn example() -> StoredResponse {
    let mut headers = HeaderMap::new();
    headers.insert(LOCATION, HeaderValue::from_static("/orders/1"));
    headers.append(LINK, HeaderValue::from_static("</a>; rel=next, </b>; rel=prev"));
    headers.insert("x-place", HeaderValue::from_bytes(b"caf\xE9").unwrap());
    headers.append(LINK, HeaderValue::from_static("</c>; rel=last"));
    headers.insert("x-empty", HeaderValue::from_static(""));
    StoredResponse { status: StatusCode::CREATED, headers, body: Bytes::from_iter(0..=255) }
}

/// Well-formed bytes around this middle: the right version and the right checksum.
fn sealed(middle: &[u8]) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    bytes.extend_from_slice(middle);
    let checksum = checksum(&bytes);
    bytes.extend_from_slice(&checksum);
    bytes
}

fn responses() -> impl Strategy<Value = StoredResponse> {
    // One letter of two, often: names repeat.
    let name = "[ab]|[a-z][a-z0-9-]{0,12}".prop_map(|name| HeaderName::from_bytes(name.as_bytes()).unwrap());
    let byte = any::<u8>().prop_filter("allowed in a field value", |byte| *byte >= 0x20 && *byte != 0x7F);
    let value = (vec(byte, 0..24), any::<bool>()).prop_map(|(bytes, sensitive)| {
        let mut value = HeaderValue::from_bytes(&bytes).unwrap();
        value.set_sensitive(sensitive);
        value
    });
    (100_u16..1000, vec((name, value), 0..8), vec(any::<u8>(), 0..64)).prop_map(|(status, lines, body)| {
        let mut headers = HeaderMap::new();
        headers.extend(lines);
        StoredResponse { status: StatusCode::from_u16(status).unwrap(), headers, body: body.into() }
    })
}

proptest! {
    #[test]
    fn any_response_comes_back_as_it_was(response in responses()) {
        let read = StoredResponse::from_bytes(response.to_bytes()).unwrap();

        prop_assert_eq!(&read, &response);
        let lines = |of: &StoredResponse| -> Vec<_> {
            of.headers.iter().map(|(name, value)| (name.clone(), value.clone(), value.is_sensitive())).collect()
        };
        prop_assert_eq!(lines(&read), lines(&response));
    }

    #[test]
    fn any_bytes_are_read_or_refused_without_a_panic(middle in vec(any::<u8>(), 0..64)) {
        let _ = StoredResponse::from_bytes(sealed(&middle));
        let _ = StoredResponse::from_bytes(middle);
    }
}

/// The bytes are on disks: a change of them needs a new version, and this version must still be read.
#[test]
fn version_one_is_written_as_its_page_says() {
    let mut headers = HeaderMap::new();
    headers.insert("a", HeaderValue::from_bytes(b"\xE9").unwrap());
    let response = StoredResponse { status: StatusCode::OK, headers, body: Bytes::from_static(b"hi") };

    let mut expected = vec![1, 0, 200, 0, 0, 0, 0, 0, 0, 0, 1];
    expected.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 1, b'a', 0, 0, 0, 0, 0, 0, 0, 1, 0xE9, 0, b'h', b'i']);
    expected.extend_from_slice(&Sha256::digest(&expected)[..8]);
    assert_eq!(response.to_bytes(), expected);
}

/// V23: two Link lines, a value with commas and one with byte 0xE9. V24: a body of all 256 values.
#[test]
fn repeated_lines_and_odd_bytes_come_back_in_order() {
    let read = StoredResponse::from_bytes(example().to_bytes()).unwrap();

    let links: Vec<_> = read.headers.get_all(LINK).iter().collect();
    assert_eq!(links, ["</a>; rel=next, </b>; rel=prev", "</c>; rel=last"]);
    assert_eq!(read.headers["x-place"].as_bytes(), b"caf\xE9");
    assert_eq!(read.body, Bytes::from_iter(0..=255));
    assert_eq!(read, example());
}

#[test]
fn each_changed_bit_is_refused() {
    let bytes = example().to_bytes();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            assert!(StoredResponse::from_bytes(damaged).is_err(), "bit {bit} of byte {at}");
        }
    }
}

#[test]
fn each_missing_end_and_each_added_byte_is_refused() {
    let bytes = example().to_bytes();
    for len in 0..bytes.len() {
        assert!(StoredResponse::from_bytes(bytes[..len].to_vec()).is_err(), "cut to {len} bytes");
    }
    for added in 0..=255 {
        assert!(StoredResponse::from_bytes([&bytes[..], &[added]].concat()).is_err(), "byte {added} added");
    }
}

#[test]
fn lengths_that_promise_more_than_there_is_are_refused() {
    for hostile in [1, 2, 20, u64::from(u32::MAX), i64::MAX as u64, u64::MAX - 7, u64::MAX] {
        let lines = [&[0, 200], &hostile.to_be_bytes()[..]].concat();
        assert!(StoredResponse::from_bytes(sealed(&lines)).is_err(), "{hostile} lines");

        let one_line = [&[0, 200], &1_u64.to_be_bytes()[..], &hostile.to_be_bytes(), b"a"].concat();
        assert!(StoredResponse::from_bytes(sealed(&one_line)).is_err(), "a name of {hostile} bytes");

        let name = [&1_u64.to_be_bytes()[..], b"a"].concat();
        let value = [&[0, 200], &1_u64.to_be_bytes()[..], &name, &hostile.to_be_bytes()].concat();
        assert!(StoredResponse::from_bytes(sealed(&value)).is_err(), "a value of {hostile} bytes");
    }
}

#[test]
fn what_no_response_has_is_refused_even_under_a_right_checksum() {
    let line = |name: &[u8], value: &[u8], sensitive: u8| {
        let mut middle = vec![0, 200];
        middle.put_u64(1);
        put_block(&mut middle, name);
        put_block(&mut middle, value);
        middle.put_u8(sensitive);
        StoredResponse::from_bytes(sealed(&middle))
    };

    assert!(line(b"a", b"b", 1).is_ok());
    assert!(line(b"", b"b", 0).is_err());
    assert!(line(b"A", b"b", 0).is_err());
    assert!(line(b"a", b"b\r\nc", 0).is_err());
    assert!(line(b"a", b"b", 2).is_err());
    assert!(StoredResponse::from_bytes(sealed(&[0, 99, 0, 0, 0, 0, 0, 0, 0, 0])).is_err());
}

#[test]
fn an_unknown_version_is_refused_and_named() {
    let mut bytes = example().to_bytes();
    bytes.truncate(bytes.len() - CHECKSUM_LEN);
    bytes[0] = 2;
    let checksum = checksum(&bytes);
    bytes.extend_from_slice(&checksum);

    let refused = StoredResponse::from_bytes(bytes).unwrap_err();

    assert_eq!(refused.to_string(), "a stored response of the unknown version 2");
    let empty = StoredResponse::from_bytes(Bytes::new()).unwrap_err();
    assert_eq!(empty.to_string(), "the bytes of a stored response are damaged");
}

#[test]
fn a_detached_response_is_the_same_and_shares_no_memory() {
    let mut response = example();
    let buffer = Bytes::from(vec![b'v'; 4096]);
    let mut cookie = HeaderValue::from_maybe_shared(buffer.slice(..8)).unwrap();
    cookie.set_sensitive(true);
    response.headers.insert(SET_COOKIE, cookie);
    response.body = buffer.slice(8..16);

    let detached = response.detached();
    assert_eq!(detached, response);
    assert!(detached.headers[SET_COOKIE].is_sensitive());

    drop(response);
    assert!(buffer.is_unique(), "the buffer is free again");
}
