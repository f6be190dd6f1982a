package jsonrpc

import (
	"bytes"
	"errors"
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// repairs is how often a message is repaired: an error's code is looked at when no member is there
// twice.
const repairs = 2

// DecodeLenient is Decode for a message of a server, which it reads as JSON.parse and the official
// SDKs do: a lone surrogate and bytes that are not UTF-8 mean U+FFFD, of members with the same name
// the last counts, a byte order mark is passed over, and an answer may have null in the place of
// what it has not. The id of an answer is read as NumberID does, and an error's code may be a whole
// number in any notation. An error counts beside a result, and a part that it lacks is supplied. What comes out of it is strict JSON, and where data is that already, it is
// data itself.
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
	m.answers()
	numberRefused(err)
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
	for i := range messages {
		messages[i].answers()
	}
	if some, ok := errors.AsType[*BatchError](err); ok {
		for _, refused := range some.Refused {
			numberRefused(refused)
		}
	} else {
		numberRefused(err)
	}
	return messages, batch, err
}

// answers reads an answer as the SDKs do: its id as NumberID does, and a result of null as an empty
// one.
func (m *Message) answers() {
	if m.Method != "" {
		return
	}
	m.ID = m.ID.asNumber()
	if string(m.Result) == "null" {
		m.Result = []byte("{}")
	}
}

// numberRefused has an answer that cannot be read name the request that it would have answered.
func numberRefused(err error) {
	if bad, ok := errors.AsType[*DecodeError](err); ok && bad.Response {
		bad.ID = bad.ID.asNumber()
	}
}

// repair makes strict JSON of what was refused, as far as there is another way to read it. Text
// that is too long or too deep is not tried.
func repair(data []byte, limits Limits, why error) ([]byte, bool) {
	var refused *DecodeError
	if errors.As(why, &refused) &&
		(refused.Reason == ReasonTooLarge || refused.Reason == ReasonLimits) {
		return nil, false
	}
	text := data
	for bytes.HasPrefix(text, byteOrderMark) { // Node's fetch passes over two
		text = text[len(byteOrderMark):]
	}
	text = repairStrings(text)
	s := sieve{scanner: scanner{data: text, limits: limits.orDefaults()}}
	text, ok := s.sift()
	return text, ok && !bytes.Equal(text, data)
}
