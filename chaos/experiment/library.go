package experiment

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"mcpd/chaos/faults"
)

//go:embed library/*.yaml
var files embed.FS

// Library returns the experiments that are ready to be run, sorted by name. Their kinds are those
// of faults.Kinds.
func Library() []Experiment {
	entries, err := files.ReadDir("library")
	if err != nil {
		panic("experiment: " + err.Error()) // it is embedded
	}
	var list []Experiment
	for _, entry := range entries {
		e, err := Parse(entry.Name(), source(entry.Name()), faults.Kinds)
		if err != nil {
			panic(fmt.Sprintf("experiment: the library has a mistake: %v", err)) // a test finds it
		}
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b Experiment) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Source returns the file of an experiment of the library, as a template for another experiment. It
// returns nil if there is no experiment with that name.
func Source(name string) []byte { return source(name + ".yaml") }

func source(file string) []byte {
	data, err := files.ReadFile(path.Join("library", file))
	if err != nil {
		return nil
	}
	return data
}
