package stdio

import (
	"os/exec"
	"sync"
	"testing"
)

// The exit of a command goes to the caller of Run, however many processes end meanwhile.
func TestCommandsOfTheDaemonAreNoOrphans(t *testing.T) {
	s := &Spawner{orphans: adopt(func(Remark) {})}
	defer s.orphans.close()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				if err := s.Run(exec.Command("/bin/sh", "-c", "exit 0")); err != nil {
					t.Errorf("the exit was taken: %v", err)
				}
			}
		})
	}
	all.Wait()
}
