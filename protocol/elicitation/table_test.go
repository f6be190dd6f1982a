package elicitation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mcpd/protocol/elicitation"
)

func owners(t *elicitation.Table[int], id string) (names []string) {
	for _, a := range t.Take(id) {
		names = append(names, fmt.Sprint(a.Owner, a.To))
	}
	return names
}

func TestCompletionReachesWhoWasAsked(t *testing.T) {
	var table elicitation.Table[int]
	table.Add("a", "alice", 1)
	table.Add("b", "bob", 2)
	table.Add("both", "alice", 1)
	table.Add("both", "bob", 2)
	table.Add("both", "alice", 3) // the same elicitation again, with another address
	for _, tt := range []struct {
		id   string
		want []string
	}{
		{"a", []string{"alice1"}},
		{"a", nil}, // completed already
		{"unknown", nil},
		{"", nil},
		{"both", []string{"bob2", "alice3"}},
	} {
		if got := owners(&table, tt.id); !slices.Equal(got, tt.want) {
			t.Errorf("%q: got %v, want %v", tt.id, got, tt.want)
		}
	}
	table.Forget("bob")
	if got := owners(&table, "b"); got != nil || table.Len() != 0 {
		t.Errorf("after bob has gone: %v, %d are left", got, table.Len())
	}
}

func TestTableIsBounded(t *testing.T) {
	var table elicitation.Table[int]
	table.Add("first", "victim", 0)
	for i := range 3 * elicitation.MaxAll {
		table.Add(fmt.Sprint(i), fmt.Sprint("hoarder", i%20), 0)
		if table.Len() > elicitation.MaxAll {
			t.Fatalf("%d are remembered", table.Len())
		}
	}
	if got := owners(&table, "first"); !slices.Equal(got, []string{"victim0"}) {
		t.Errorf("others have displaced the only one of an owner: %v", got)
	}
	table = elicitation.Table[int]{}
	for i := range 2 * elicitation.MaxOwned {
		table.Add(fmt.Sprint("own", i), "one", i)
	}
	if got := owners(&table, fmt.Sprint("own", elicitation.MaxOwned-1)); got != nil {
		t.Errorf("more than the bound of one owner: %v", got)
	}
	if got := owners(&table, fmt.Sprint("own", elicitation.MaxOwned)); got == nil {
		t.Error("fewer than the bound of one owner")
	}
	before := table.Len()
	table.Add(strings.Repeat("x", elicitation.MaxID+1), "one", 0)
	table.Add("", "one", 0)
	if table.Len() != before {
		t.Error("an id that is empty or too long is remembered")
	}
}
