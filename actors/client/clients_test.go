package client

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/internal/testrig"
	"mcpd/internal/sortedmap"
	"mcpd/supervisor/otp"
)

// actors makes an actor for each name.
func actors(t *testing.T, use func(ref func(name string) otp.Ref)) {
	synctest.Test(t, func(t *testing.T) {
		system := otp.NewSystem(otp.Options{})
		defer system.Close()
		box, spec := testrig.Box{}, otp.Spec{}
		for _, name := range []string{"a", "b", "c"} {
			spec.Children = append(spec.Children, box.Child(name))
		}
		tree, err := system.Start(t.Context(), "top", spec)
		if err != nil {
			t.Fatal(err)
		}
		use(func(name string) otp.Ref {
			ref, _ := system.Whereis(tree.Ref().Path() + "/" + name)
			return ref
		})
	})
}

// A session is known from when it is attached until its actor is gone. The lines of the story are
// events, each with the sessions that are known then, indented: "*" uses the connection, "+" is
// held for, "k" keeps task 1.
func TestClients(t *testing.T) {
	const story = `
a attaches alice
  a alice *
b attaches bob holds
  a alice *
  b bob *+
b attaches bob
  a alice *
  b bob *+
a keeps 1
  a alice *k
  b bob *+
x keeps 1
  a alice *k
  b bob *+
x hands xavier
  a alice *k
  b bob *+
  x xavier
y hands yves alone
  a alice *k
  b bob *+
  y yves
a detaches
  b bob *+
  y yves
host loses
  y yves
host regains
  b bob *+
  y yves
`
	actors(t, func(ref func(string) otp.Ref) {
		all, abandoned, got := clients{}, &AbandonedState{}, strings.Builder{}
		for line := range strings.Lines(story) {
			words := append(strings.Fields(line), "", "", "", "")
			if strings.HasPrefix(line, "  ") {
				continue // written again below
			}
			got.WriteString(line)
			who, arg, more := words[0], words[2], words[3]
			switch words[1] {
			case "attaches":
				all.attach(who, ref(who), more == "holds", User{Principal: arg})
			case "hands":
				all.handed(who, User{Principal: arg}, more == "alone")
			case "keeps":
				all.keeps(who, jsontext.Value(arg))
			case "detaches":
				all.detach(ref(who))
			case "loses":
				all.leave(abandoned)
				all.detach(ref("b"))
			case "regains":
				all.restore(abandoned)
			}
			keepers := all.keepers(jsontext.Value("1"))
			for row, c := range sortedmap.Sorted(all) {
				is := ""
				if c.uses {
					is += "*"
				}
				if c.holds {
					is += "+"
				}
				if _, keeps := keepers[row]; keeps {
					is += "k"
				}
				fmt.Fprintln(&got, strings.TrimRight("  "+row+" "+c.Principal+" "+is, " "))
			}
		}
		if got.String() != story {
			t.Errorf("the clients are\n%s", got.String())
		}
	})
}
