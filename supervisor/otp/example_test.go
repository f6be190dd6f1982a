package otp_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"mcpd/supervisor/otp"
)

// greeter is a worker. It counts greetings, and panics on an empty name.
type greeter struct {
	otp.Base
	greeted int
}

func (g *greeter) Receive(_ *otp.Process, msg any) error {
	switch m := msg.(type) {
	case *otp.Call[string, string]:
		if m.Req == "" {
			panic("nobody there")
		}
		g.greeted++
		m.Reply(fmt.Sprintf("hello %s, you are number %d", m.Req, g.greeted))
	}
	return nil
}

func Example() {
	ctx := context.Background()
	system := otp.NewSystem(otp.Options{})
	defer system.Close()

	tree, err := system.Start(ctx, "app", otp.Spec{
		Strategy:  otp.OneForOne,
		Intensity: otp.Intensity{Restarts: 3, Within: time.Minute},
		Children: []otp.Child{
			{ID: "greeter", Start: otp.Worker(func() otp.Behaviour { return new(greeter) })},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	ref, _ := system.Whereis("app/greeter")

	for _, name := range []string{"Ann", "Bob", "", "Joe"} {
		answer, err := otp.Do[string, string](ctx, ref, name)
		fmt.Println(answer, err)
	}
	fmt.Println("incarnation", ref.Incarnation())

	_ = tree.Shutdown(ctx)
	fmt.Println(tree.Err())
	// Output:
	// hello Ann, you are number 1 <nil>
	// hello Bob, you are number 2 <nil>
	//  app/greeter: *otp.Call[string,string]: panic: nobody there
	// hello Joe, you are number 1 <nil>
	// incarnation 2
	// shutdown
}
