//! Products of polynomials with integer coefficients by one product of large integers (Kronecker 1882), which GMP does by
//! Fourier transforms.
//!
//! ```text
//!   A(2^w) B(2^w) = C(2^w), where 2^(w-1) is above every coefficient of C in absolute value
//! ```
//!
//! Cost: that of one product of (degree x w) bits.

use rug::Integer;
use rug::integer::Order;

/// The coefficients of the product, the constant first.
pub(crate) fn product(a: &[Integer], b: &[Integer]) -> Vec<Integer> {
    if a.is_empty() || b.is_empty() {
        return Vec::new();
    }
    let bits = |c: &[Integer]| c.iter().map(Integer::significant_bits).max().unwrap_or(0) as usize;
    let shorter = a.len().min(b.len());
    // Sums of so many products, a sign and whole words.
    let words = (bits(a) + bits(b) + shorter.ilog2() as usize + 3).div_ceil(64);
    let packed = pack(a, words) * pack(b, words);
    unpack(&packed, words, a.len() + b.len() - 1)
}

/// Q(-x) for the coefficients of Q(x).
pub(crate) fn mirrored(q: &[Integer]) -> Vec<Integer> {
    q.iter().enumerate().map(|(i, c)| if i % 2 == 1 { Integer::from(-c) } else { c.clone() }).collect()
}

/// The value at 2^(64 words).
fn pack(coefficients: &[Integer], words: usize) -> Integer {
    let side = |negative: bool| {
        let mut digits = vec![0_u64; coefficients.len() * words];
        for (chunk, c) in digits.chunks_mut(words).zip(coefficients).filter(|(_, c)| c.is_negative() == negative) {
            let size = c.significant_digits::<u64>();
            c.write_digits(&mut chunk[..size], Order::Lsf);
        }
        Integer::from_digits(&digits, Order::Lsf)
    };
    side(false) - side(true)
}

/// The coefficients of a value at 2^(64 words).
fn unpack(packed: &Integer, words: usize, count: usize) -> Vec<Integer> {
    let negative = packed.is_negative();
    let digits = Integer::from(packed.abs_ref()).to_digits::<u64>(Order::Lsf);
    let base = Integer::from(1) << (64 * words as u32);
    let half = Integer::from(&base >> 1);
    let mut carry = false;
    let mut chunks = digits.chunks(words);
    (0..count)
        .map(|_| {
            let mut c = chunks.next().map_or_else(Integer::new, |chunk| Integer::from_digits(chunk, Order::Lsf));
            c += u32::from(carry);
            carry = c >= half;
            if carry {
                c -= &base;
            }
            if negative { -c } else { c }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_the_school() {
        let mut state = 7_u64;
        let mut random = |bits: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let c = Integer::from(state >> 5) << (bits * (state >> 60) as u32);
            if state >> 40 & 1 == 1 { -c } else { c }
        };
        for (one, other, bits) in [(1, 1, 0), (3, 5, 1), (8, 8, 17), (20, 1, 40), (33, 12, 9)] {
            let a: Vec<Integer> = (0..one).map(|_| random(bits)).collect();
            let b: Vec<Integer> = (0..other).map(|_| random(bits)).collect();
            let mut expected = vec![Integer::new(); one + other - 1];
            for (i, x) in a.iter().enumerate() {
                for (j, y) in b.iter().enumerate() {
                    expected[i + j] += x * y;
                }
            }
            assert_eq!(product(&a, &b), expected, "{one} by {other}");
        }
        assert!(product(&[], &[Integer::from(1)]).is_empty());
    }
}
