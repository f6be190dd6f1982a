package headers

import (
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The marks around a base64 value. They match exactly; any other spelling is plain text.
const (
	opening = "=?base64?"
	closing = "?="
)

// The reasons why a value cannot be decoded.
var (
	errCharacter = errors.New("contains a character that is not allowed")
	errBase64    = errors.New("is not base64")
	errUTF8      = errors.New("is not UTF-8")
)

// Encode returns text as the value of a field. It returns the text unchanged if that consists of
// printable ASCII. It uses base64 if the text contains other characters, begins or ends with a
// space, or looks like a base64 value itself. A text with a tab always uses base64.
func Encode(text string) string {
	if plain(text) {
		return text
	}
	return opening + base64.StdEncoding.EncodeToString([]byte(text)) + closing
}

func plain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	edges := text != "" && (text[0] == ' ' || text[len(text)-1] == ' ')
	return !edges && !(strings.HasPrefix(text, opening) && strings.HasSuffix(text, closing))
}

// Decode returns the text of a value. Space around the value is not part of it. Base64 is strict:
// the standard alphabet, padding, no line breaks, and no bits beyond the last byte.
func Decode(value string) (string, error) {
	value = strings.Trim(value, " \t")
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c > '~' {
			return "", errCharacter
		}
	}
	inner, ok := strings.CutPrefix(value, opening)
	if !ok {
		return value, nil
	}
	if inner, ok = strings.CutSuffix(inner, closing); !ok {
		return value, nil
	}
	text, err := base64.StdEncoding.Strict().DecodeString(inner)
	switch {
	case err != nil:
		return "", errBase64
	case !utf8.Valid(text):
		return "", errUTF8
	}
	return string(text), nil
}

// hugeExponent is an exponent larger than that of any number that is represented exactly.
const hugeExponent = 1 << 20

// integer reads a JSON number whose value is a whole number of at most MaxInteger: 42, 42.0,
// 420e-1.
func integer(number string) (int64, bool) {
	digits, negative := strings.CutPrefix(number, "-")
	digits, power, hasPower := cutPower(digits)
	whole, fraction, hasFraction := strings.Cut(digits, ".")
	if !decimal(whole) || len(whole) > 1 && whole[0] == '0' || hasFraction && !decimal(fraction) {
		return 0, false
	}
	exponent := 0
	if hasPower {
		power, minus := strings.CutPrefix(power, "-")
		if !minus {
			power = strings.TrimPrefix(power, "+")
		}
		if !decimal(power) {
			return 0, false
		}
		exponent = hugeExponent
		if power = strings.TrimLeft(power, "0"); len(power) < len("10000") {
			exponent, _ = strconv.Atoi("0" + power)
		}
		if minus {
			exponent = -exponent
		}
	}
	// The value is all × 10^exponent, where all has no zeros at its end.
	all := strings.TrimLeft(whole+fraction, "0")
	exponent -= len(fraction)
	trimmed := strings.TrimRight(all, "0")
	exponent += len(all) - len(trimmed)
	switch {
	case trimmed == "":
		return 0, true
	case exponent < 0 || len(trimmed)+exponent > len("9007199254740991"):
		return 0, false
	}
	n, _ := strconv.ParseInt(trimmed+strings.Repeat("0", exponent), 10, 64) // at most sixteen digits
	if n > MaxInteger {
		return 0, false
	}
	if negative {
		n = -n
	}
	return n, true
}

func cutPower(number string) (digits, power string, ok bool) {
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		return number[:i], number[i+1:], true
	}
	return number, "", false
}

// decimal reports whether text consists of one or more digits.
func decimal(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return text != ""
}
