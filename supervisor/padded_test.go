package supervisor

import (
	"bytes"
	"fmt"
	"testing"
	"time"
)

// A small call in a large request keeps no more memory than counts for it.
func TestPaddedCallsKeepWhatCounts(t *testing.T) {
	n := copying(t)
	spaces := bytes.Repeat([]byte(" "), copied)
	ways(func(path, prefix, server string, modern bool) {
		t.Run(fmt.Sprintf("%s %s modern=%t", path, prefix, modern), func(t *testing.T) {
			here := n.at(t)
			c := here.client(path, modern)
			c.answered(prefix+"echo", false)
			before, counted := here.live()
			f := n.far[server]
			f.releases()
			defer f.releases()
			begin, end := c.calling(prefix + "hold")
			for range copies {
				defer c.write(prefix+"hold", [][]byte{[]byte(begin + "{}" + end), spaces, []byte("}")}).Close()
			}
			for late := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
				live, kept := here.live()
				if live, kept = live-before, kept-counted; f.has(copies) && live <= kept+copies*besideCall {
					return
				}
				if time.Now().After(late) {
					t.Fatalf("%d KiB are live, and %d count", live>>10, kept>>10)
				}
			}
		})
	})
}
