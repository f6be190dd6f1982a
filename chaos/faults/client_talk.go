package faults

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/internal/load"
	"mcpd/protocol"
)

// answer is the response to one request body.
type answer struct {
	status   int
	messages []answered // in the order of the body; an array adds each of its messages
}

// answered holds the parts of a host's message that the kinds look at.
type answered struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Result struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"result"`
	Error *load.CallError `json:"error"`
}

// text returns the first text of a result.
func (a answered) text() string {
	if len(a.Result.Content) == 0 {
		return ""
	}
	return a.Result.Content[0].Text
}

// maxAnswer bounds the bytes of one response body that are read.
const maxAnswer = 8 << 20

// post sends one body and reads the whole response.
func (c Client) post(ctx context.Context, client *http.Client, header http.Header,
	body string) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	r.Header = header
	resp, err := client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode}
	limited := io.LimitReader(resp.Body, maxAnswer)
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return a, load.EachEvent(limited, func(_ string, data []byte) error { return a.add(data) })
	}
	data, err := io.ReadAll(limited)
	if data = bytes.TrimSpace(data); err == nil && len(data) > 0 &&
		strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		err = a.add(data)
	}
	return a, err
}

// add appends one message, or each message of an array. It ignores an event without data, which
// carries only an id.
func (a *answer) add(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	if data[0] == '[' {
		var all []answered
		if err := json.Unmarshal(data, &all); err != nil {
			return fmt.Errorf("an answer is no array of messages: %w", err)
		}
		a.messages = append(a.messages, all...)
		return nil
	}
	var one answered
	if err := json.Unmarshal(data, &one); err != nil {
		return fmt.Errorf("an answer is no message: %w", err)
	}
	a.messages = append(a.messages, one)
	return nil
}

// of returns the answers to the request with that id.
func (a answer) of(id string) (list []answered) {
	for _, m := range a.messages {
		if m.Method == "" && string(m.ID) == id {
			list = append(list, m)
		}
	}
	return list
}

// statelessCall returns a call of revision 2026-07-28, which needs no session.
func (c Client) statelessCall(id, text string) string {
	return c.request(id, text,
		`,"_meta":{"`+protocol.MetaProtocolVersion+`":"`+protocol.V20260728.String()+`","`+
			protocol.MetaClientCapabilities+`":{}}`)
}

// statelessHeader returns the header of a call of revision 2026-07-28.
func (c Client) statelessHeader() http.Header {
	header := http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {protocol.V20260728.String()},
		"Mcp-Method":           {"tools/call"}, "Mcp-Name": {c.Tool},
	}
	if c.Key != "" {
		header.Set("Authorization", "Bearer "+c.Key)
	}
	return header
}
