//! The Chinese remainder theorem: the one integer below the product of the moduli that has given residues.
//!
//! Garner's mixed radix form (Knuth, TAOCP 2, section 4.3.2): x = v1 + v2 p1 + v3 p1 p2 + ... Cost: quadratic in the
//! number of moduli, of which there are tens at most.

use rug::Integer;
use rug::ops::RemRounding;

/// The residues determine no integer.
#[derive(Debug, thiserror::Error, PartialEq, Eq, Clone)]
pub enum CrtError {
    /// Two moduli have a common factor.
    #[error("moduli must be pairwise coprime, but {modulus} shares a factor with an earlier one")]
    NotCoprime {
        /// The later of the two.
        modulus: u64,
    },
    /// A residue is not below its modulus.
    #[error("residue {residue} is not below its modulus {modulus}")]
    NotReduced {
        /// The modulus.
        modulus: u64,
        /// The residue.
        residue: u64,
    },
}

/// The integer x with 0 <= x < product of the moduli and x = residue (mod modulus) for each pair (modulus, residue).
pub fn crt(residues: &[(u64, u64)]) -> Result<Integer, CrtError> {
    let mut x = Integer::new();
    let mut product = Integer::from(1);
    for &(modulus, residue) in residues {
        if residue >= modulus {
            return Err(CrtError::NotReduced { modulus, residue });
        }
        let p = Integer::from(modulus);
        let inverse = Integer::from(&product % &p).invert(&p).map_err(|_| CrtError::NotCoprime { modulus })?;
        // digit = (residue - x) / product mod p
        let digit = ((Integer::from(residue) - &x) * inverse).rem_euc(p);
        x += digit * &product;
        product *= modulus;
    }
    Ok(x)
}

/// `x` modulo `modulus`, for x >= 0. The spare prime's residue must be equal to it.
pub fn residue_of(x: &Integer, modulus: u64) -> u64 {
    // The remainder is below a u64, so the conversion cannot fail.
    Integer::from(x % modulus).to_u64_wrapping()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primes_below;

    #[test]
    fn gives_back_what_was_taken_apart() {
        let x = Integer::from(Integer::u_pow_u(3, 361));
        let residues: Vec<_> = primes_below(1 << 60).take(10).map(|p| (p, residue_of(&x, p))).collect();
        assert_eq!(crt(&residues), Ok(x.clone()));
        // One modulus too few: the number no longer fits, and the spare residue shows it.
        let nine: Integer = crt(&residues[..9]).unwrap();
        assert_ne!(nine, x);
        assert_ne!(residue_of(&nine, residues[9].0), residues[9].1);
    }

    #[test]
    fn says_what_is_wrong() {
        assert_eq!(crt(&[(7, 7)]), Err(CrtError::NotReduced { modulus: 7, residue: 7 }));
        assert_eq!(crt(&[(6, 1), (9, 1)]), Err(CrtError::NotCoprime { modulus: 9 }));
        assert_eq!(crt(&[]), Ok(Integer::new()));
    }
}
