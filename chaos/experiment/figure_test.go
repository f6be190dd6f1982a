package experiment

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// measured matches the names of measured quantities in the sources of runs and of kinds of faults.
var measured = regexp.MustCompile(`(?:samples\[|sample\(|found\[|float64\{)"([a-z_]+)"`)

// The table contains exactly the quantities that are measured.
func TestQuantitiesAreThoseThatAreMeasured(t *testing.T) {
	files, err := filepath.Glob("../faults/*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, file := range append(files, "../run/figures.go") {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range measured.FindAllStringSubmatch(string(source), -1) {
			found[match[1]] = true
		}
	}
	for name := range found {
		if _, ok := QuantityOf(name); !ok {
			t.Errorf("%s is measured, and not in the table", name)
		}
	}
	if !slices.IsSorted(quantityNames()) {
		t.Error("they are not in the order of their names")
	}
	for _, q := range Quantities {
		if !found[q.Name] || q.Description == "" ||
			q.Unit != "" && !strings.HasSuffix(q.Name, "_"+q.Unit) {
			t.Errorf("%s: nothing measures it, it says nothing, or it does not end in its unit", q.Name)
		}
	}
}
