package gateway

import (
	"slices"
	"testing"
)

func TestChainIsWholeAndInOrder(t *testing.T) {
	for i, step := range Chain() {
		if step.Decision != Decision(i) || step.By == "" || step.Refusal == "" || step.Doc == "" {
			t.Errorf("row %d is %+v", i, step)
		}
	}
	if got := len(Chain()); got != int(Admit)+1 {
		t.Errorf("the chain has %d rows, want %d", got, int(Admit)+1)
	}
}

// The order of checks is a requirement of its own: cheap checks that reveal nothing come first,
// and no body is read for an unknown caller.
func TestOrderOfRefusals(t *testing.T) {
	want := []Decision{
		Connection, Head, Host, Origin, Path, Authenticate, Body, Envelope, Headers, Revision, Gate,
		Admit,
	}
	if !slices.IsSorted(want) {
		t.Errorf("the chain does not keep the order %v", want)
	}
	for _, pair := range [][2]Decision{{Authenticate, Server}, {Backoff, Authenticate},
		{Authenticate, Session}, {Media, Body}} {
		if pair[0] >= pair[1] {
			t.Errorf("decision %d comes before %d", pair[1], pair[0])
		}
	}
}

func TestArrange(t *testing.T) {
	mine := map[Decision]string{
		Session: "session", Server: "server", Path: "path", Authenticate: "authenticate",
		Backoff: "backoff",
	}
	got, err := Arrange(ByWiring, mine)
	if want := []string{"path", "backoff", "authenticate", "server", "session"}; err != nil ||
		!slices.Equal(got, want) {
		t.Errorf("Arrange = %q, %v, want %q", got, err, want)
	}
	mine[Body] = "body"
	if _, err := Arrange(ByWiring, mine); err == nil {
		t.Error("a decision of another was taken")
	}
	delete(mine, Body)
	delete(mine, Authenticate)
	if _, err := Arrange(ByWiring, mine); err == nil {
		t.Error("nobody authenticates")
	}
}
