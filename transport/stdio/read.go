package stdio

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// errStray is the error for too many consecutive stray lines.
var errStray = errors.New("too many bytes that are not messages")

var (
	errNotObject = errors.New("not a JSON object")
	errArray     = errors.New("an array outside 2025-03-26")
	byteOrder    = []byte("\xef\xbb\xbf")
)

// read parses a line. If found is false, the line was no message, or its messages went to c.ready.
func (c *Conn) read(line []byte) (in transport.Inbound, found bool, err error) {
	// Windows programs write a byte order mark, and CR LF.
	line = bytes.Trim(bytes.TrimPrefix(line, byteOrder), " \t\r")
	switch {
	case len(line) == 0:
		return in, false, nil
	case line[0] == '[' && protocol.Version(c.version.Load()).Has(protocol.Batching):
		return in, false, c.readBatch(line)
	case line[0] == '[':
		return in, false, c.reportStray(line, errArray)
	case line[0] != '{':
		return in, false, c.reportStray(line, errNotObject)
	}
	m, err := jsonrpc.DecodeLenient(line, c.limits)
	if err != nil {
		return in, false, c.refuse(line, err)
	}
	c.gotMessage()
	return transport.Inbound{Message: m}, true, nil
}

// gotMessage notes that a message came.
func (c *Conn) gotMessage() {
	c.strayRun, c.strayTotal = 0, 0
	if !c.settled {
		c.settled = true
		c.child.Settled()
	}
}

// readBatch reads an array (2025-03-26 §basic/transports). Its good messages count even if others
// are refused.
func (c *Conn) readBatch(line []byte) error {
	messages, _, err := jsonrpc.DecodeBatchLenient(line, c.limits)
	for _, m := range messages {
		c.gotMessage()
		c.ready = append(c.ready, transport.Inbound{Message: m})
	}
	var some *jsonrpc.BatchError
	if !errors.As(err, &some) {
		return c.refuse(line, err)
	}
	for _, refused := range some.Refused {
		if err := c.refuse(line, refused); err != nil {
			return err
		}
	}
	return nil
}

// tooLong handles an oversized line that was skipped. Many servers write the id of a response after
// its result.
func (c *Conn) tooLong(long *longLine) error {
	bad := &jsonrpc.DecodeError{
		Code: jsonrpc.CodeInvalidRequest, Reason: jsonrpc.ReasonTooLarge, Detail: long.Error(),
		Offset: long.max,
	}
	bad.ID, bad.Response = jsonrpc.PeekID(long.head)
	if bad.ID.IsZero() && bad.Response {
		bad.ID, _ = jsonrpc.LastID(long.tail)
	}
	return c.refuse(long.head, bad)
}

// refuse handles an invalid message. An invalid response fails the request that it answers, and an
// invalid request gets an error response. A line with the id of neither is stray.
func (c *Conn) refuse(line []byte, err error) error {
	if err == nil {
		return nil
	}
	var bad *jsonrpc.DecodeError
	if errors.As(err, &bad) && !bad.Response { // or the decoder did not come to the id
		switch id, response := jsonrpc.PeekID(line); {
		case !id.IsZero():
			bad.ID, bad.Response = id, response
		case response && bad.ID.IsZero():
			bad.ID, bad.Response = jsonrpc.LastID(line[max(0, len(line)-longTail):])
		}
	}
	switch {
	// If the line was cut, the server has ended amid it, and its requests in flight are lost anyway.
	case bad == nil || bad.ID.IsZero() || c.in.cut:
		return c.reportStray(line, err)
	case bad.Response || bad.Empty:
		c.gotMessage()
		c.ready = append(c.ready, transport.Inbound{RequestID: bad.ID, Err: err, Written: true})
		return nil
	}
	answer := jsonrpc.Failure(bad.ID, &jsonrpc.Error{Code: bad.Code, Message: bad.Detail})
	_ = c.Send(context.Background(), answer) // a server that does not read goes without it
	return nil
}

// reportStray reports a stray line, and gives up a stream that has too many.
func (c *Conn) reportStray(line []byte, cause error) error {
	c.strayRun++
	c.strayTotal += len(line) + strayLine
	shown := line[:min(len(line), strayBytes)]
	c.lastStray.Store(new(string(bytes.ToValidUTF8(shown, nil))))
	if c.stray != nil {
		c.stray(Stray{
			Line: string(shown), Truncated: len(line) > len(shown), Err: cause, Run: c.strayRun,
		})
	}
	if c.strayTotal >= MaxStray {
		return fmt.Errorf("%w: %d lines in a row, the last %.80q", errStray, c.strayRun, line)
	}
	return nil
}
