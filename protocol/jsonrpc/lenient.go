package jsonrpc

import (
	"bytes"
	"errors"
	"strings"
)

// repairs is how often a message is repaired: an error's code is looked at when no member is there
// twice.
const repairs = 2

// DecodeLenient is Decode for a message of a server, which it reads as JSON.parse and the official
// SDKs do: a lone surrogate and bytes that are not UTF-8 mean U+FFFD, of members with the same name
// the last counts, a byte order mark is passed over, and an answer may have null in the place of
// what it has not, and an id or an error's code that is the exact decimal of a whole number. What
// comes out of it is strict JSON, and where data is that already, it is data itself.
func DecodeLenient(data []byte, limits Limits) (Message, error) {
	m, err := Decode(data, limits)
	for again := 0; err != nil && again < repairs; again++ {
		repaired, ok := repair(data, limits, err)
		if !ok {
			break
		}
		data = repaired
		m, err = Decode(data, limits)
	}
	if m.Method == "" {
		m.ID = m.ID.exact()
	}
	return m, err
}

// DecodeBatchLenient is DecodeBatch for messages of a server.
func DecodeBatchLenient(data []byte, limits Limits) (messages []Message, batch bool, err error) {
	messages, batch, err = DecodeBatch(data, limits)
	for again := 0; err != nil && again < repairs; again++ {
		repaired, ok := repair(data, limits, err)
		if !ok {
			break
		}
		data = repaired
		messages, batch, err = DecodeBatch(data, limits)
	}
	for i, m := range messages {
		if m.Method == "" {
			messages[i].ID = m.ID.exact()
		}
	}
	return messages, batch, err
}

// exact is the id as IntID would have made it, where it is a string that holds such a number. Our
// own ids are numbers, and the official SDKs find what an answer is for by its number.
func (id ID) exact() ID {
	if digits, ok := strings.CutPrefix(id.raw, `"`); ok {
		digits = strings.TrimSuffix(digits, `"`)
		if n, whole := (ID{digits}).Int(); whole && IntID(n).raw == digits {
			return ID{digits}
		}
	}
	return id
}

// repair makes strict JSON of what was refused, as far as there is another way to read it. Text
// that is too long or too deep is not tried.
func repair(data []byte, limits Limits, why error) ([]byte, bool) {
	var refused *DecodeError
	if errors.As(why, &refused) &&
		(refused.Reason == ReasonTooLarge || refused.Reason == ReasonLimits) {
		return nil, false
	}
	text := repairStrings(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	s := sieve{scanner: scanner{data: text, limits: limits.orDefaults()}}
	text, ok := s.sift()
	return text, ok && !bytes.Equal(text, data)
}
