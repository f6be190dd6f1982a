package chaos

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// watched is the resource of which the test server announces an update when its tool "touch" is
// called.
const watched = "test://watched"

// watch is a session of acme's that has subscribed to the resource.
type watch struct {
	a       *arena
	session *mcp.ClientSession
	updated chan string
	end     func()
}

// watch opens such a session.
func (a *arena) watch() *watch {
	a.t.Helper()
	w := &watch{a: a, updated: make(chan string, 1)}
	w.session, w.end = a.client(acme, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{},
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			select {
			case w.updated <- r.Params.URI:
			default: // one update is as good as several
			}
		},
	})
	if err := w.session.Subscribe(a.t.Context(), &mcp.SubscribeParams{URI: watched}); err != nil {
		a.t.Fatal(err)
	}
	return w
}

// hears checks that the session is as it was: it gets answers and the updates that it has
// subscribed to. Earlier updates, as after the start of another program, do not count.
func (w *watch) hears() {
	w.a.t.Helper()
	select {
	case <-w.updated:
	default:
	}
	w.a.must(w.session, "files__touch", nil)
	select {
	case uri := <-w.updated:
		if uri != watched {
			w.a.t.Errorf("heard of %s", uri)
		}
	case <-time.After(patience):
		w.a.t.Error("nobody knows of the subscription any more")
	}
}

// tools returns the names of the tools that a session lists, in order.
func (a *arena) tools(s *mcp.ClientSession) (names []string) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), patience)
	defer cancel()
	l, err := s.ListTools(ctx, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	for _, tool := range l.Tools {
		names = append(names, tool.Name)
	}
	return names
}
