package server_test

import (
	"fmt"
	"strings"
	"testing"

	merge "mcpd/gateway/catalog"
	"mcpd/protocol"
)

// A URI that is too long for any server's list is refused before a subscription stores it, on both
// kinds of endpoint. It may still be read.
func TestURIsAreBounded(t *testing.T) {
	run(t, nil, func(r *rig) {
		long, fits := "test://"+strings.Repeat("é", merge.MaxURI/2), "test://"+
			strings.Repeat("x", merge.MaxURI-7)
		for _, server := range []string{"", "files"} {
			u := r.open("ci", server)
			u.shake(`{}`)
			for _, uri := range []string{long, merge.Wrap("files", long)} {
				if out := u.ask("resources/read",
					fmt.Sprintf(`{"uri":%q}`, uri)); strings.Contains(fmt.Sprint(out.All()), "shorter") {
					t.Errorf("%q: one that is only read is refused: %.200s", server, fmt.Sprint(out.All()))
				}
				out := u.ask("resources/subscribe", fmt.Sprintf(`{"uri":%q}`, uri))
				if all := fmt.Sprint(out.All()); out.Word() != int64(-32602) ||
					!strings.Contains(all, "use a shorter one") {
					t.Errorf("%q: %.200s", server, all)
				}
			}
			if out := u.ask("resources/subscribe",
				fmt.Sprintf(`{"uri":%q}`, merge.Wrap("files", fits))); out.Word() != "result" {
				t.Errorf("%q: one that fits is refused: %.200s", server, fmt.Sprint(out.All()))
			}
		}
		out := r.caller(`{}`).ask("subscriptions/listen",
			fmt.Sprintf(`{"notifications":{"resourceSubscriptions":["test://x",%q]}}`, long))
		if out.Word() != int64(-32602) {
			t.Errorf("listen: %.200s", fmt.Sprint(out.All()))
		}
	})
}

// The record of a session is stored after each change, so the total length of its URIs is bounded.
func TestSubscribedBytesAreBounded(t *testing.T) {
	run(t, nil, func(r *rig) {
		u := r.open("ci", "files")
		u.shake(`{}`)
		n, refused := 0, ""
		for ; refused == "" && n < protocol.MaxSubscribedURIs; n++ {
			out := u.ask("resources/subscribe",
				fmt.Sprintf(`{"uri":"test://%d/%s"}`, n, strings.Repeat("x", merge.MaxURI-20)))
			if out.Word() == int64(-32602) {
				refused = fmt.Sprint(out.All())
			}
		}
		if want := protocol.MaxSubscribedBytes / (2 * merge.MaxURI); n < want || n > want+2 ||
			!strings.Contains(refused, "unsubscribe from one first") {
			t.Errorf("the %dth is refused: %.200s", n, refused)
		}
	})
}
