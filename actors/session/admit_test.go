package session

import (
	"fmt"
	"testing"

	"mcpd/gateway/quota"
)

// Of twelve sessions and three tenants, each tenant has two guaranteed, and six are free.
func TestWhoMayHaveAnotherSession(t *testing.T) {
	for name, tt := range map[string]struct {
		held claims
		want verdict
	}{
		"the first":                {claims{}, verdict{free: true, owed: true}},
		"within its part":          {claims{"a": 1, "b": 8}, verdict{free: true, owed: true}},
		"from the free part":       {claims{"a": 2, "b": 7}, verdict{free: true}},
		"the free part is used up": {claims{"a": 2, "b": 8}, verdict{from: []string{"b", "a"}}},
		"nobody else will have as many": {claims{"a": 2, "b": 3, "c": 3, "x": 3, "y": 3}, verdict{
			from: []string{"a"},
		}},
		"by itself":                   {claims{"a": 8}, verdict{from: []string{"a"}}},
		"by both, the other has more": {claims{"a": 4, "b": 6}, verdict{from: []string{"b", "a"}}},
		"by both, the other will have less": {claims{"a": 4, "b": 5, "c": 3}, verdict{
			from: []string{"a"},
		}},
		"by three, the furthest above first": {claims{"a": 2, "b": 4, "c": 6}, verdict{
			from: []string{"c", "b", "a"},
		}},
		"others have too much": {claims{"a": 1, "b": 12}, verdict{
			owed: true, from: []string{"b"},
		}},
		"too much of tenants that left": {claims{"a": 1, "x": 6, "y": 6}, verdict{
			owed: true, from: []string{"x", "y"},
		}},
	} {
		got := tt.held.decide(quota.Shares{Total: 12, Tenants: 3}, "a")
		if fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%s: %v: got %+v, want %+v", name, tt.held, got, tt.want)
		}
	}
	if got := (claims{"a": 100}).decide(quota.Shares{Tenants: 3}, "a"); !got.free {
		t.Errorf("without a bound: %+v", got)
	}
}
