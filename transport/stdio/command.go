package stdio

import "os/exec"

// Run runs a command that is no server, as exec.Cmd.Run does. Other code of this process must not
// start programs by itself: the exit of a child that is not registered is reaped as that of an
// orphan.
func (s *Spawner) Run(cmd *exec.Cmd) error {
	var err error
	s.orphans.fork("", func() int {
		if err = cmd.Start(); err != nil {
			return 0
		}
		return cmd.Process.Pid
	})
	if err != nil {
		return err
	}
	defer s.orphans.reaped(cmd.Process.Pid)
	return cmd.Wait()
}
