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

// Library is the experiments that are ready to be run, by name. Their kinds are those of faults.Kinds.
func Library() []Experiment {
	entries, err := files.ReadDir("library")
	if err != nil {
		panic("experiment: " + err.Error()) // it is embedded
	}
	var list []Experiment
	for _, entry := range entries {
		e, err := Parse(entry.Name(), source(entry.Name()), faults.Kinds)
		if err != nil {
			panic(fmt.Sprintf("experiment: the library has a mistake: %v", err)) // which a test finds
		}
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b Experiment) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Source is the file of an experiment of the library, from which another can be made. It is nil when there is none of that name.
func Source(name string) []byte { return source(name + ".yaml") }

func source(file string) []byte {
	data, err := files.ReadFile(path.Join("library", file))
	if err != nil {
		return nil
	}
	return data
}
