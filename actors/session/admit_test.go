package session

import (
	"fmt"
	"testing"

	"mcpd/gateway/quota"
)

// Of twelve sessions and three tenants, each tenant has two guaranteed, and six are free.
func TestWhoMayHaveAnotherSession(t *testing.T) {
	for name, tt := range map[string]struct {
		held sessionCounts
		want verdict
	}{
		"the first": {sessionCounts{}, verdict{hasRoom: true, guaranteed: true}},
		"within its part": {sessionCounts{"a": 1, "b": 8}, verdict{
			hasRoom: true, guaranteed: true,
		}},
		"from the free part": {sessionCounts{"a": 2, "b": 7}, verdict{hasRoom: true}},
		"the free part is used up": {sessionCounts{"a": 2, "b": 8}, verdict{
			evictFrom: []string{"b", "a"},
		}},
		"nobody else will have as many": {sessionCounts{"a": 2, "b": 3, "c": 3, "x": 3, "y": 3}, verdict{
			evictFrom: []string{"a"},
		}},
		"by itself": {sessionCounts{"a": 8}, verdict{evictFrom: []string{"a"}}},
		"by both, the other has more": {sessionCounts{"a": 4, "b": 6}, verdict{
			evictFrom: []string{"b", "a"},
		}},
		"by both, the other will have less": {sessionCounts{"a": 4, "b": 5, "c": 3}, verdict{
			evictFrom: []string{"a"},
		}},
		"by three, the furthest above first": {sessionCounts{"a": 2, "b": 4, "c": 6}, verdict{
			evictFrom: []string{"c", "b", "a"},
		}},
		"others have too much": {sessionCounts{"a": 1, "b": 12}, verdict{
			guaranteed: true, evictFrom: []string{"b"},
		}},
		"too much of tenants that left": {sessionCounts{"a": 1, "x": 6, "y": 6}, verdict{
			guaranteed: true, evictFrom: []string{"x", "y"},
		}},
	} {
		got := tt.held.decide(quota.Shares{Total: 12, Tenants: 3}, "a")
		if fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%s: %v: got %+v, want %+v", name, tt.held, got, tt.want)
		}
	}
	if got := (sessionCounts{"a": 100}).decide(quota.Shares{Tenants: 3}, "a"); !got.hasRoom {
		t.Errorf("without a bound: %+v", got)
	}
}
