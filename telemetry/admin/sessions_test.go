package admin

import (
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/timestamppb"

	mcpdv1 "mcpd/proto/gen/mcpd/v1"
)

func TestSessionsAreListed(t *testing.T) {
	var all []*mcpdv1.Session
	for i := range 5 {
		all = append(all, &mcpdv1.Session{
			Id: fmt.Sprint(i), Tenant: []string{"acme", "beta"}[i%2],
			LastUsed: timestamppb.New(time.Unix(int64(i), 0)), ClientName: "evil\x1b[0m\xff",
		})
	}
	h := start(t, func(o *Options) {
		o.Sessions = func() iter.Seq[*mcpdv1.Session] { return slices.Values(all) }
	})
	tests := []struct {
		query string
		ids   string
		total uint32
	}{
		{"", "4 3 2 1 0", 5},
		{"?limit=2", "4 3", 5},
		{"?tenant=acme", "4 2 0", 3},
		{"?tenant=", "", 0},
	}
	for _, test := range tests {
		_, _, answer := h.do(http.MethodGet, "/admin/v1/sessions"+test.query, "")
		var list mcpdv1.SessionList
		if err := protojson.Unmarshal([]byte(answer), &list); err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, s := range list.GetSessions() {
			ids = append(ids, s.GetId())
			if s.GetClientName() != `evil\x1b[0m\xff` {
				t.Errorf("client name %q is not safe to show", s.GetClientName())
			}
		}
		if got := strings.Join(ids, " "); got != test.ids || list.GetTotal() != test.total {
			t.Errorf("%s: %s of %d, want %s of %d", test.query, got, list.GetTotal(), test.ids, test.total)
		}
	}
}
