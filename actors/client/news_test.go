package client_test

import (
	"strconv"
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/internal/stage"
	"mcpd/actors/notification"
	"mcpd/protocol/jsonrpc"
)

// flood has a server say all that at once, and then one line for its log. It returns how many lines of the log were heard of by now.
func (r *rig) flood(method string, n int) (heard func() int) {
	p := r.ready(`{"tools":{},"logging":{}}`)
	go func() { // owner: the peer, which ends with the test
		for i := range n {
			p.Notify(jsonrpc.ID{}, method, `{"level":"info","progressToken":"of no call","data":`+strconv.Itoa(i)+`}`)
		}
		p.Notify(jsonrpc.ID{}, "notifications/message", `{"level":"info","data":"last"}`)
	}()
	return func() int {
		r.Rest()
		return len(stage.Of[*notification.Dispatch](&r.dispatcher.Log))
	}
}

// F21: a server that logs without pause is read no faster than at the pace, and nothing that it said is lost.
func TestFloodOfNewsIsReadAtItsPace(t *testing.T) {
	run(t, nil, func(r *rig) {
		heard := r.flood("notifications/message", client.NewsBurst+client.NewsRate)
		if got := heard(); got < client.NewsBurst || got > client.NewsBurst+client.NewsRate/20 {
			t.Errorf("%d lines were read at once, want %d", got, client.NewsBurst)
		}
		time.Sleep(time.Second / 2) // virtual
		if got, want := heard(), client.NewsBurst+client.NewsRate/2; got < want*19/20 || got > want*21/20 {
			t.Errorf("%d lines were read in half a second, want %d", got, want)
		}
		time.Sleep(time.Second/2 + 50*time.Millisecond)
		if got, want := heard(), client.NewsBurst+client.NewsRate+1; got != want {
			t.Errorf("%d lines were read in the end, want %d", got, want)
		}
	})
}

// F35: what a server says of the progress of calls holds up what comes behind it for less.
func TestFloodOfProgressHasItsOwnPace(t *testing.T) {
	run(t, nil, func(r *rig) {
		heard := r.flood("notifications/progress", 4*client.NewsBurst+client.ProgressReadRate)
		time.Sleep(time.Second - 50*time.Millisecond) // virtual
		if got := heard(); got != 0 {
			t.Errorf("%d lines were read before their turn", got)
		}
		time.Sleep(100 * time.Millisecond)
		if got := heard(); got != 1 {
			t.Errorf("%d lines were read, want 1", got)
		}
	})
}
