package supervisor

import (
	"bytes"
	"fmt"
	"testing"
	"time"
)

// A small call in a large request keeps no more than counts for it.
func TestPaddedCallsKeepWhatCounts(t *testing.T) {
	n := copying(t)
	spaces := bytes.Repeat([]byte(" "), copied)
	ways(func(path, prefix, server string, modern bool) {
		t.Run(fmt.Sprintf("%s %s modern=%t", path, prefix, modern), func(t *testing.T) {
			here := *n
			here.T = t
			c := here.client(path, modern)
			c.answered(prefix+"echo", false)
			before, counted := n.live()
			f := n.far[server]
			f.releases()
			defer f.releases()
			meta := `{"progressToken":1}`
			if modern {
				meta = `{"progressToken":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + farCapabilities + `}`
			}
			for range copies {
				conn := c.write(prefix+"hold", [][]byte{
					[]byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + prefix + `hold","arguments":{},"_meta":` + meta + `}`), spaces, []byte(`}`),
				})
				defer conn.Close()
			}
			const slack = copies * 256 << 10 // connections, and what belongs to them
			for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
				live, kept := n.live()
				if live, kept = live-before, kept-counted; f.has(copies) && live <= kept+slack {
					return
				}
				if time.Now().After(end) {
					t.Fatalf("%d KiB are live, and %d count", live>>10, kept>>10)
				}
			}
		})
	})
}
