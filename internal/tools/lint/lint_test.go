package main

import (
	"slices"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

// One package breaks every rule. The others show where a rule does not apply.
func TestRulesFindWhatTheyForbid(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), house,
		"mcpd/actors/demo", "mcpd/actors/late", "mcpd/internal/clock", "mcpd/transport/demo")
}

func TestRuleScopes(t *testing.T) {
	tests := []struct {
		rule, path string
		want       bool
	}{
		{"owngo", "mcpd/actors/request", true},
		{"owngo", "mcpd/actors/request_test", true},
		{"owngo", "mcpd/supervisor/otp", true},
		{"owngo", "mcpd/supervisors", false},
		{"owngo", "mcpd/transport/stdio", false},
		{"passclock", "mcpd/telemetry", true},
		{"passclock", "mcpd/internal/clock", false},
		{"passclock", "mcpd/internal/clockwork", true},
		{"passclock", "mcpd/cmd/mcpd", false},
		{"noinit", "mcpd", true},
	}
	for _, test := range tests {
		i := slices.IndexFunc(rules, func(r rule) bool { return r.name == test.rule })
		if i < 0 {
			t.Errorf("no rule %q", test.rule)
			continue
		}
		if got := rules[i].covers(test.path); got != test.want {
			t.Errorf("%s covers %s = %v, want %v", test.rule, test.path, got, test.want)
		}
	}
}
