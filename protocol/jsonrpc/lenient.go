package jsonrpc

import (
	"bytes"
	"errors"
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// maxRepairs is the number of attempts to repair a message. The second attempt is needed because an
// error code is checked only after duplicate members are gone.
const maxRepairs = 2

// DecodeLenient is Decode for a message of a server. It accepts the deviations that JSON.parse and
// the official SDKs accept:
//
//   - A lone surrogate, and bytes that are not UTF-8, stand for U+FFFD.
//   - The last of several members with the same name counts.
//   - A byte order mark is skipped.
//   - A response may contain null for an absent member.
//   - The id of a response is read as NumberID does.
//   - An error code may be a whole number in any notation.
//   - An error takes precedence over a result. Missing parts of an error are filled in.
//
// The parts of the returned message are strict JSON. They share memory with data if data is strict
// JSON already. The error is a *DecodeError.
func DecodeLenient(data []byte, limits Limits) (Message, error) {
	m, err := Decode(data, limits)
	for again := 0; err != nil && again < maxRepairs; again++ {
		repaired, ok := repair(data, limits, err)
		if !ok {
			break
		}
		data = repaired
		m, err = Decode(data, limits)
	}
	m.answers()
	normalizeRefused(err)
	return m, err
}

// DecodeBatchLenient is DecodeBatch for messages of a server, with the leniency of DecodeLenient.
func DecodeBatchLenient(data []byte, limits Limits) (messages []Message, batch bool, err error) {
	messages, batch, err = DecodeBatch(data, limits)
	for again := 0; err != nil && again < maxRepairs; again++ {
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
			normalizeRefused(refused)
		}
	} else {
		normalizeRefused(err)
	}
	return messages, batch, err
}

// answers reads a response as the SDKs do. It reads the id as NumberID does, and a null result as
// an empty result.
func (m *Message) answers() {
	if m.Method != "" {
		return
	}
	m.ID = m.ID.normalized()
	if string(m.Result) == "null" {
		m.Result = []byte("{}")
	}
}

// normalizeRefused normalises the id of a refused response as NumberID does, so that the error
// names the request.
func normalizeRefused(err error) {
	if bad, ok := errors.AsType[*DecodeError](err); ok && bad.Response {
		bad.ID = bad.ID.normalized()
	}
}

// repair turns a refused text into strict JSON, if there is another way to read it. It does not try
// text that exceeds a limit.
func repair(data []byte, limits Limits, cause error) ([]byte, bool) {
	var refused *DecodeError
	if errors.As(cause, &refused) &&
		(refused.Reason == ReasonTooLarge || refused.Reason == ReasonLimits) {
		return nil, false
	}
	text := data
	for bytes.HasPrefix(text, byteOrderMark) { // Node's fetch skips two byte order marks
		text = text[len(byteOrderMark):]
	}
	text = repairStrings(text)
	s := repairer{scanner: scanner{data: text, limits: limits.orDefaults()}}
	text, ok := s.repair()
	return text, ok && !bytes.Equal(text, data)
}
