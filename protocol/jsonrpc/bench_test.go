package jsonrpc_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"mcpd/protocol/jsonrpc"
)

// call is a request for a tool with a small argument: 200 bytes.
const call = `{"jsonrpc":"2.0","id":1042,"method":"tools/call","params":{"name":"files__read_text_file","arguments":{"path":"/srv/acme/README.md","head":100},"_meta":{"progressToken":"b1946ac92492d2347c6235b4d2"}}}`

// BenchmarkDecodeCall measures the hot path of the gateway. Goal: below 1 µs and 3 allocations.
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
	data := []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` +
		strings.Repeat("lorem ipsum dolor sit amet ", 40_000) + `"}]}}`)
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

// BenchmarkDecodeHostile measures bodies that were made to be slow. The cost per byte must not
// depend much on the content.
func BenchmarkDecodeHostile(b *testing.B) {
	object := func(members int, name func(i int) string) string {
		var s strings.Builder
		for i := range members {
			fmt.Fprintf(&s, `%c"%s":1`, ",{"[btoi(i == 0)], name(i))
		}
		return s.String() + "}"
	}
	short := func(i int) string { return strconv.FormatInt(int64(i), 36) }
	escaped := func(i int) string { return fmt.Sprintf(`\u00%02x\u00%02x`, 0x20+i/90, 0x30+i%90) }
	for name, part := range map[string]string{
		"16 members":         object(16, short),
		"17 members":         object(17, short),
		"100 members":        object(100, short),
		"10000 members":      object(10_000, short),
		"17 escaped names":   object(17, escaped),
		"1000 escaped names": object(1000, escaped),
		"empty arrays":       "[],[],[],[],[],[],[],[]",
		"deep":               strings.Repeat("[", 60) + strings.Repeat("]", 60),
		"escapes":            `"` + strings.Repeat(`\n`, 1000) + `"`,
		"not ASCII":          `"` + strings.Repeat("é", 1000) + `"`,
		"digits":             strings.Repeat("1", 4000),
	} {
		data := []byte(`{"jsonrpc":"2.0","id":1,"result":[` +
			strings.Repeat(part+",", (1<<20)/len(part)) + `0]}`)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := jsonrpc.Decode(data, jsonrpc.Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
