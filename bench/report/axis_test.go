package report

import (
	"fmt"
	"strings"
	"testing"
)

func TestLabelsKeepApart(t *testing.T) {
	texts := func(list []tick) string {
		var b strings.Builder
		for _, t := range list {
			fmt.Fprintf(&b, "%s@%.0f ", t.Text, t.At)
		}
		return b.String()
	}
	wide := []tick{{0, "10,000"}, {10, "19,744"}, {20, "30,000"}, {60, "1"}, {66, "2"}, {71, "3"}}
	if got, want := texts(across(wide)), "10,000@0 30,000@20 1@60 2@66 3@71 "; got != want {
		t.Errorf("across: %s, want %s", got, want)
	}
	tall := []tick{{0, "1"}, {11, "2"}, {13, "3"}, {100, "4"}}
	if got, want := texts(upwards(tall)), "1@100 3@87 4@0 "; got != want {
		t.Errorf("upwards: %s, want %s", got, want)
	}
}
