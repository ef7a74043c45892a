//! Floats as text, spelled as ECMAScript and RFC 8785 spell them, so that most languages can
//! make the same text without help. A text must never lose a bit of its number.

/// The fewest digits that name this float, and `Infinity` for what has none.
pub fn float(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_string();
    }
    // Adding zero turns negative zero into zero.
    let value = value + 0.0;
    // Without an exponent both spell alike.
    if value == 0.0 || (1e-6..1e21).contains(&value.abs()) {
        return value.to_string();
    }
    scientific(value)
}

/// The text of a float, whether or not it has an exponent.
fn scientific(value: f64) -> String {
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(mantissa) => ("-", mantissa),
        None => ("", mantissa),
    };
    let digits = mantissa.replace('.', "");
    format!("{sign}{}", lay_out(&digits, exponent))
}

/// `digits` is d.ddd without its point, to be multiplied by ten to the `exponent`.
fn lay_out(digits: &str, exponent: i32) -> String {
    let point = exponent + 1;
    match (usize::try_from(point), exponent) {
        (Ok(point), 0..=20) if point >= digits.len() => format!("{digits:0<point$}"),
        (Ok(point), 0..=20) => {
            let (whole, rest) = digits.split_at_checked(point).unwrap_or((digits, ""));
            format!("{whole}.{rest}")
        }
        (_, -6..=-1) => {
            let zeros = point.unsigned_abs() as usize;
            format!("0.{:0<zeros$}{digits}", "")
        }
        _ => {
            let sign = if exponent < 0 { "-" } else { "+" };
            let exponent = exponent.unsigned_abs();
            match digits.split_at_checked(1) {
                Some((first, rest)) if !rest.is_empty() => {
                    format!("{first}.{rest}e{sign}{exponent}")
                }
                _ => format!("{digits}e{sign}{exponent}"),
            }
        }
    }
}

/// Lenient about spelling; the caller compares with what the writer makes.
pub fn from_float(text: &str) -> Option<f64> {
    match text {
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        _ => text.parse().ok().filter(|value: &f64| value.is_finite()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_match_the_samples_of_rfc_8785() {
        let samples: [(u64, &str); 16] = [
            (0x0000_0000_0000_0000, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0xc340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
        ];
        for (bits, text) in samples {
            assert_eq!(float(f64::from_bits(bits)), text, "{bits:016x}");
            assert_eq!(from_float(text), Some(f64::from_bits(bits)));
        }
    }

    #[test]
    fn a_float_without_an_exponent_is_spelled_as_if_it_had_one() {
        let mut bits = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..200_000 {
            bits = bits.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            // Exponents around one, where both ways may be taken.
            let exponent = 0x3ff - 30 + (bits >> 33) % 110;
            let value = f64::from_bits((bits & !(0x7ff << 52)) | exponent << 52);
            assert_eq!(float(value), scientific(value), "{value:e}");
        }
    }
}
