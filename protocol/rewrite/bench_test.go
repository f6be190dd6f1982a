package rewrite_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/rewrite"
)

// answered is the result of a tool: 2 KiB of text, a link, and a structured value.
var answered = jsontext.Value(`{"resultType":"complete","content":[{"type":"text","text":"` +
	strings.Repeat("lorem ipsum ", 120) +
	`","_meta":{"a":1}},{"type":"resource_link","uri":"file:///srv/acme/README.md","name":"README.md","description":"what it is","annotations":` +
	`{"audience":["user"],"priority":0.5,"lastModified":"2026-01-01T00:00:00Z"}},{"type":"audio","data":"` + strings.Repeat("AAEC", 30) +
	`","mimeType":"audio/wav"}],"structuredContent":{"total":12345678901234567890,"list":[1,2,3]},"_meta":{"io.modelcontextprotocol/serverInfo":` +
	`{"name":"files","version":"1"},"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}`)

// plain is a result with nothing that depends on the revision.
var plain = jsontext.Value(`{"content":[{"type":"text","text":"` +
	strings.Repeat("lorem ipsum ", 160) + `"}],"isError":false}`)

// listed is a typical tool with a schema.
var listed = jsontext.Value(`{"name":"read_text_file","title":"Read a file","description":"` +
	strings.Repeat("Reads a file. ", 20) +
	`","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"head":{"type":"number","description":"first lines"},"tail":` +
	`{"type":"number"}},"required":["path"],"additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#"},"annotations":` +
	`{"readOnlyHint":true},"execution":{"taskSupport":"forbidden"}}`)

// BenchmarkResult measures the hot path between two revisions. Goal: below 20 µs and 10
// allocations for 2 KiB, for every pair.
func BenchmarkResult(b *testing.B) {
	pairs(func(from, to protocol.Version) {
		if from == protocol.Latest && to != protocol.Latest ||
			to == protocol.Latest && from == protocol.LatestLegacy {
			b.Run(fmt.Sprintf("%v/%v", from, to), func(b *testing.B) {
				b.SetBytes(int64(len(answered)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := rewrite.Result("tools/call", from, to, answered, gateway); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	})
}

// BenchmarkUnchanged measures a message that is the same in both revisions. Goal: no allocations.
func BenchmarkUnchanged(b *testing.B) {
	b.Run("result", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if got, err := rewrite.Result("tools/call", protocol.V20251125, protocol.V20241105, plain,
				gateway); err != nil || !same(got, plain) {
				b.Fatal(err)
			}
		}
	})
	b.Run("item", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if !same(rewrite.Item(rewrite.Tool, protocol.V20250618, protocol.V20251125, listed), listed) {
				b.Fatal("it changed")
			}
		}
	})
}

func BenchmarkItem(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		rewrite.Item(rewrite.Tool, protocol.V20251125, protocol.V20250326, listed)
	}
}

// A message that needs no change is not copied. A rewritten message costs one copy and few other
// allocations.
func TestRewritingIsCheap(t *testing.T) {
	args := jsontext.Value(`{"name":"t","arguments":{"a":[1,2]},"_meta":{"progressToken":1}}`)
	for name, test := range map[string]struct {
		most float64
		do   func()
	}{
		"equal revisions": {0, func() {
			_, _ = rewrite.Result("tools/call", protocol.Latest, protocol.Latest, answered, gateway)
		}},
		"unchanged result": {0, func() {
			_, _ = rewrite.Result("tools/call", protocol.V20251125, protocol.V20241105, plain, gateway)
		}},
		"unchanged item": {0, func() {
			rewrite.Item(rewrite.Tool, protocol.V20250618, protocol.V20251125, listed)
		}},
		"unchanged request": {0, func() {
			_, _ = rewrite.Request("tools/call", protocol.V20241105, protocol.Latest, args)
		}},
		"unchanged notification": {0, func() {
			_, _ = rewrite.Notification("notifications/progress", protocol.V20251125,
				protocol.V20250326, args)
		}},
		"changed item": {1, func() {
			rewrite.Item(rewrite.Tool, protocol.V20251125, protocol.V20250326, listed)
		}},
		"down": {9, func() {
			_, _ = rewrite.Result("tools/call", protocol.Latest, protocol.V20241105, answered, gateway)
		}},
		"up": {9, func() {
			_, _ = rewrite.Result("tools/call", protocol.V20241105, protocol.Latest, answered, gateway)
		}},
	} {
		if got := testing.AllocsPerRun(100, test.do); got > test.most {
			t.Errorf("%s: got %v allocations, want at most %v", name, got, test.most)
		}
	}
}
