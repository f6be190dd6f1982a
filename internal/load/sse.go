package load

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// maxReply bounds one message and one whole response body, in bytes. Load payloads have a few
// hundred bytes; a tool list may be long.
const maxReply = 4 << 20

// EachEvent calls f with every event of an SSE body that has an id or data, until f returns an
// error or the body ends. The data is valid until f returns.
func EachEvent(body io.Reader, f func(id string, data []byte) error) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 4096), maxReply)
	var id string
	var data []byte
	for lines.Scan() {
		line := lines.Bytes()
		if len(line) == 0 { // the end of an event
			if len(data) > 0 || id != "" {
				if err := f(id, data); err != nil {
					return err
				}
			}
			id, data = "", data[:0]
			continue
		}
		if value, ok := bytes.CutPrefix(line, []byte("id:")); ok {
			id = string(bytes.TrimPrefix(value, []byte(" ")))
			continue
		}
		value, ok := bytes.CutPrefix(line, []byte("data:"))
		if !ok {
			continue // event names, retry and comments are irrelevant here
		}
		if len(data) > 0 {
			data = append(data, '\n')
		}
		if data = append(data, bytes.TrimPrefix(value, []byte(" "))...); len(data) > maxReply {
			return fmt.Errorf("event of more than %d bytes", maxReply)
		}
	}
	return lines.Err()
}
