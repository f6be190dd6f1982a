package headers

import (
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The marks around a value in base64. They are exact: in any other spelling the text stands for itself.
const (
	opening = "=?base64?"
	closing = "?="
)

// Why a value cannot be read.
var (
	errCharacter = errors.New("holds a character that it may not")
	errBase64    = errors.New("is not base64")
	errUTF8      = errors.New("is not UTF-8")
)

// Encode is text as the value of a field: as it is, or in base64 if it holds anything but printable ASCII, begins or ends with a space,
// or looks like base64 itself. A tab is encoded wherever it stands.
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

// Decode is the text that a value stands for. Space around the value is not part of it. Base64 is read strictly: the standard alphabet,
// padded, no line breaks and no bits beyond the last byte.
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

// far is an exponent beyond every number that is read exactly.
const far = 1 << 20

// integer reads a JSON number whose value is whole and at most MaxInteger: 42, 42.0, 420e-1.
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
		exponent = far
		if power = strings.TrimLeft(power, "0"); len(power) < len("10000") {
			exponent, _ = strconv.Atoi("0" + power)
		}
		if minus {
			exponent = -exponent
		}
	}
	// The value is all × 10^exponent, all without zeros at its end.
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
	n, _ := strconv.ParseInt(trimmed+strings.Repeat("0", exponent), 10, 64) // sixteen digits at most
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

// decimal reports that text is one digit or more.
func decimal(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return text != ""
}
