package interop

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

// flood is one byte more than a host accepts in one message.
var flood = strings.Repeat("x", protocol.MaxUpstreamMessage+1)

// serveMirror serves a tool that returns the arguments of the call as structured content, the _meta
// of the call as _meta, and the whole request as text, all byte for byte. Another tool returns
// flood.
func serveMirror(r io.Reader, w io.Writer) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		m, err := jsonrpc.Decode(lines.Bytes(), jsonrpc.Limits{})
		if err != nil {
			return err
		}
		if m.Kind() != jsonrpc.KindRequest {
			continue
		}
		if name, _ := jsonedit.GetString(m.Params, "name"); name == "flood" {
			if _, err := fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"text":"%s"}}`+"\n", m.ID.Raw(),
				flood); err != nil {
				return err
			}
			continue
		}
		answer := jsonrpc.Response(m.ID, mirrored(m, lines.Text()))
		if _, err := fmt.Fprintf(w, "%s\n", answer.Append(nil)); err != nil {
			return err
		}
	}
	return lines.Err()
}

func mirrored(m jsonrpc.Message, line string) jsontext.Value {
	switch m.Method {
	case "initialize":
		version, _ := jsonedit.Get(m.Params, "protocolVersion")
		return jsontext.Value(`{"protocolVersion":` + string(version) +
			`,"capabilities":{"tools":{}},"serverInfo":{"name":"mirror","version":"1"}}`)
	case "tools/list":
		return jsontext.Value(`{"tools":[{"name":"mirror","inputSchema":{"type":"object"}, "x-big":12345678901234567890}]}`)
	case "tools/call":
		arguments, _ := jsonedit.Get(m.Params, "arguments")
		meta, _ := jsonedit.Get(m.Params, "_meta")
		return jsontext.Value(
			fmt.Sprintf(`{"content":[{"type":"text","text":%s}],"structuredContent":%s,"_meta":%s}`,
				jsonedit.Quote(line), arguments, meta),
		)
	}
	return jsontext.Value("{}")
}
