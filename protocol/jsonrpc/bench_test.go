package jsonrpc_test

import (
	"strings"
	"testing"

	"mcpd/protocol/jsonrpc"
)

// call is what a client sends for a tool with a small argument: 200 bytes.
const call = `{"jsonrpc":"2.0","id":1042,"method":"tools/call","params":{"name":"files__read_text_file","arguments":{"path":"/srv/acme/README.md","head":100},"_meta":{"progressToken":"b1946ac92492d2347c6235b4d2"}}}`

// BenchmarkDecodeCall is the hot path of the gateway. Goal: below 1 µs and 3 allocations.
func BenchmarkDecodeCall(b *testing.B) {
	data := []byte(call)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := jsonrpc.Decode(data, jsonrpc.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeLargeResult(b *testing.B) {
	data := []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + strings.Repeat("lorem ipsum dolor sit amet ", 40_000) + `"}]}}`)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := jsonrpc.Decode(data, jsonrpc.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendCall(b *testing.B) {
	m, err := jsonrpc.Decode([]byte(call), jsonrpc.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, 0, 512)
	b.ReportAllocs()
	for b.Loop() {
		buf = m.Append(buf[:0])
	}
}
