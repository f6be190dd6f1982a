package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"mcpd/internal/mcptest"
)

// documents are the numbers of requirements in each of the five documents.
var documents = []int{60, 20, 24, 72, 147}

// attacks are the numbers of the first and the last row of the attack checklist in the page.
var attacks = [2]int{17, 39}

var (
	attack         = regexp.MustCompile(`^S[0-9]{2}$`)
	requirementRow = regexp.MustCompile(`(?m)^\| (S[0-9][^|]+) \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$`)
	requirement    = regexp.MustCompile(`S([0-4])-([0-9]+)(?: to S([0-4])-([0-9]+))?`)
	shownBy        = regexp.MustCompile("`([a-z0-9/]+\\.(?:Test|Benchmark|Fuzz)\\w+(?:/[\\w-]+)?)`")
)

// docs/requirements.md lists every requirement and every attack once, and every test that it
// names exists.
func TestRequirementsAreMapped(t *testing.T) {
	seen := map[string]int{}
	for _, row := range requirementRow.FindAllStringSubmatch(page(t, "docs/requirements.md"), -1) {
		if attack.MatchString(row[1]) {
			seen[row[1]]++
		}
		for _, m := range requirement.FindAllStringSubmatch(row[1], -1) {
			first, _ := strconv.Atoi(m[2])
			last := first
			if m[3] != "" {
				if last, _ = strconv.Atoi(m[4]); m[3] != m[1] || last <= first {
					t.Errorf("%s is no range", m[0])
				}
			}
			for n := first; n <= last; n++ {
				seen[fmt.Sprintf("S%s-%d", m[1], n)]++
			}
		}
		tests := shownBy.FindAllStringSubmatch(row[4], -1)
		if len(tests) == 0 && !strings.HasPrefix(row[4], "not yet: ") && row[4] != "prose" {
			t.Errorf("%s: neither a test nor a reason why there is none", row[1])
		}
		for _, m := range tests {
			if !mcptest.TestExists(t, docsRoot, m[1]) {
				t.Errorf("%s: there is no %s", row[1], m[1])
			}
		}
	}
	once := func(id string) {
		if seen[id] != 1 {
			t.Errorf("%s is listed %d times", id, seen[id])
		}
		delete(seen, id)
	}
	for document, count := range documents {
		for n := 1; n <= count; n++ {
			once(fmt.Sprintf("S%d-%d", document, n))
		}
	}
	for n := attacks[0]; n <= attacks[1]; n++ {
		once(fmt.Sprint("S", n))
	}
	for id := range seen {
		t.Errorf("%s is no requirement", id)
	}
}

var endRow = regexp.MustCompile(`(?m)^\| [^-].* \| ([^|]*) \|$`)

// Every row of docs/process-end.md names a test that exists.
func TestProcessEndsAreShown(t *testing.T) {
	rows := endRow.FindAllStringSubmatch(page(t, "docs/process-end.md"), -1)
	if len(rows) < 8 {
		t.Fatal("the page has no table")
	}
	for _, row := range rows {
		if row[1] == "shown by" {
			continue
		}
		tests := shownBy.FindAllStringSubmatch(row[1], -1)
		if len(tests) == 0 {
			t.Errorf("%s: names no test", row[0])
		}
		for _, m := range tests {
			if !mcptest.TestExists(t, docsRoot, m[1]) {
				t.Errorf("%s: there is no %s", row[0], m[1])
			}
		}
	}
}

var limitRow = regexp.MustCompile(`(?m)^\| .* \| ([^|]*) \|$`)

// Every bound of docs/limits.gen.md names a test, and every test that it names exists.
func TestLimitsAreShown(t *testing.T) {
	rows := limitRow.FindAllStringSubmatch(page(t, "docs/limits.gen.md"), -1)
	if len(rows) < 3 {
		t.Fatal("the page has no table")
	}
	for _, row := range rows[2:] {
		tests := shownBy.FindAllStringSubmatch(row[1], -1)
		if len(tests) == 0 && row[1] != "not yet:" {
			t.Errorf("no test shows that this is kept: %s", row[0])
		}
		for _, m := range tests {
			if !mcptest.TestExists(t, docsRoot, m[1]) {
				t.Errorf("there is no %s: %s", m[0], row[0])
			}
		}
	}
}
