package stdio

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"mcpd/transport"
	"mcpd/transport/stdio/cgroup"
)

// SpawnerOptions configure a Spawner. The zero value is usable.
type SpawnerOptions struct {
	// Instance is how MCPD_INSTANCE begins in every child: a slash and the child's number follow.
	// Empty leaves it out.
	Instance string
	// Daemon says that this is the only spawner of its process, that nothing else in the process
	// starts programs, and that no other process has the same Instance. Then the host adopts the
	// processes that children leave behind and ends them with the child, and a guard process ends the
	// processes that the host leaves behind.
	Daemon bool
	// Earlier is the prefix of the instances of earlier daemons. Their processes are ended before the
	// first start. Empty is none.
	Earlier string
	// Report is called with events of processes other than the children. It may be nil.
	Report func(Remark)
	// Starting bounds the children that are starting at the same time: from Start until Settled, exit
	// or SettleTime. 0 is one for each core, because a starting interpreter keeps a core busy.
	Starting int
}

// Remark is an event of processes other than the children.
type Remark struct {
	What  string // Earlier, Survived, Escaped or GuardLost
	Count int    // number of processes
	Err   error  // the reason, for GuardLost
}

// The kinds of a Remark.
const (
	Earlier  = "earlier"  // an earlier daemon had left processes; they were ended
	Survived = "survived" // Count processes of an earlier daemon outlived SIGKILL
	// Escaped: a server had started processes outside of its group; they were ended with it.
	Escaped = "escaped"
	// GuardLost: the guard process ended or could not be started; the next one is on its way.
	GuardLost = "guard lost"
)

// Spawner starts child processes. All forks happen on one operating system thread that lives until
// the last child is gone, because the kernel ties the parent-death signal to the thread, not to the
// process (go.dev/issue/27505). More threads would not be faster: fork holds a lock of the whole
// process until the child runs its program.
type Spawner struct {
	o       SpawnerOptions
	number  atomic.Uint64 // number of the last child
	limits  *cgroup.Tree  // nil where no control groups can be made
	lacking error         // the reason
	orphans *orphans      // nil unless this is the daemon
	watcher *watcher      // nil before the first start, too; used by the thread only
	group   bool          // signals through a pidfd reach process groups
	// pidfd says that children get a pidfd. Tests turn it and group off to emulate an old kernel.
	pidfd    bool
	jobs     chan *job
	closing  chan struct{}
	close    func()
	ended    chan struct{}
	children sync.WaitGroup

	mu      sync.Mutex // guards what follows
	turns   turns
	delayed uint64      // number of turns that had to wait, so far
	later   *time.Timer // calls the method again when the rate has room
}

// Waiting returns how many starts wait for their turn, and how many had to wait so far.
func (s *Spawner) Waiting() (now int, all uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turns.waiting, s.delayed
}

// job is one start, handed to the thread and back.
type job struct {
	ctx    context.Context
	spec   Spec
	path   string
	env    []string
	mark   string
	free   func() // gives the place among the starting ones back
	result chan outcome
}

type outcome struct {
	child *Child
	err   error
}

// NewSpawner starts the thread, which Close ends, and makes every descriptor of this process
// close-on-exec.
func NewSpawner(o SpawnerOptions) *Spawner {
	sealDescriptors()
	if o.Starting <= 0 {
		o.Starting = runtime.GOMAXPROCS(0)
	}
	if o.Report == nil {
		o.Report = func(Remark) {}
	}
	s := &Spawner{
		o:       o,
		group:   groupSignals(),
		pidfd:   true,
		jobs:    make(chan *job),
		turns:   turns{free: o.Starting, rate: rate{every: time.Second / StartRate, burst: StartBurst}},
		closing: make(chan struct{}),
		ended:   make(chan struct{}),
	}
	s.later = time.AfterFunc(SettleTime, s.again)
	s.later.Stop()
	s.close = sync.OnceFunc(func() {
		s.later.Stop()
		close(s.closing)
	})
	s.lacking = errors.New("only a daemon makes control groups")
	if o.Daemon {
		s.limits, s.lacking = cgroup.Find()
		s.orphans = adopt(o.Report)
	}
	go s.run() // owner: Close waits for it
	return s
}

// run forks. It unlocks the thread only after the last child is gone: the kernel would kill the
// children with the thread.
func (s *Spawner) run() {
	runtime.LockOSThread()
	defer close(s.ended)
	defer runtime.UnlockOSThread()
	defer s.end()
	s.sweep()
	for {
		select {
		case j := <-s.jobs:
			child, err := s.fork(j)
			select {
			case j.result <- outcome{child, err}:
			case <-j.ctx.Done():
				if child != nil {
					child.discard()
				}
			}
		case <-s.closing:
			return
		}
	}
}

// sweep ends the processes that earlier daemons have left. Nothing is started before it is done. If
// there are none, it takes one look at every process.
func (s *Spawner) sweep() {
	if s.o.Earlier == "" {
		return
	}
	ended, remaining := sweepEarlier(s.o.Earlier, s.o.Instance)
	// a group that stays holds a process
	remaining = max(remaining, s.limits.Sweep(s.o.Earlier, s.o.Instance, sweepTime))
	if ended > 0 {
		s.o.Report(Remark{What: Earlier, Count: ended})
	}
	if remaining > 0 {
		s.o.Report(Remark{What: Survived, Count: remaining})
	}
}

// end waits for the last child, and ends the processes that the children left behind.
func (s *Spawner) end() {
	s.children.Wait()
	s.orphans.close()
	s.watcher.close()
}

// Start starts a program; it waits for its turn while too many are starting. If the program could
// not be started, the error is a *transport.ExitError; other errors are of ctx, or
// transport.ErrClosed after Close. The caller owns the child and ends it with Stop.
func (s *Spawner) Start(ctx context.Context, spec Spec) (*Child, error) {
	if spec.Files == 0 {
		spec.Files = DefaultFiles
	}
	if spec.FileSize == 0 {
		spec.FileSize = DefaultFileSize
	}
	spec.Ladder = spec.Ladder.orDefaults()
	if err := checkText(spec); err != nil {
		return nil, err
	}
	if err := checkDir(spec.Dir); err != nil {
		return nil, err
	}
	mark := s.mark()
	env := environment(os.Environ(), spec.Pass, spec.Env, mark)
	path, err := lookPath(spec.Command, lookup(env, "PATH"), spec.Dir)
	if err != nil {
		return nil, err
	}
	if err := s.await(ctx, &turn{tenant: spec.Tenant, again: spec.Restart,
		come: make(chan struct{})}); err != nil {
		return nil, err
	}
	j := &job{ctx: ctx, spec: spec, path: path, env: env, mark: mark, result: make(chan outcome)}
	j.free = sync.OnceFunc(s.free)
	select {
	case s.jobs <- j:
	case <-ctx.Done():
		j.free()
		return nil, ctx.Err()
	case <-s.closing:
		j.free()
		return nil, transport.ErrClosed
	}
	select {
	case r := <-j.result:
		return r.child, r.err
	case <-ctx.Done():
		return nil, ctx.Err() // the thread ends a child that it may have started
	}
}

// mark returns the mark of the next child.
func (s *Spawner) mark() string {
	if s.o.Instance == "" {
		return ""
	}
	return s.o.Instance + "/" + strconv.FormatUint(s.number.Add(1), 10)
}

// await waits for a turn.
func (s *Spawner) await(ctx context.Context, t *turn) (err error) {
	s.mu.Lock()
	s.turns.wait(t)
	s.grant()
	select {
	case <-t.come:
	default:
		s.delayed++
	}
	s.mu.Unlock()
	select {
	case <-t.come:
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-s.closing:
		err = transport.ErrClosed
	}
	s.mu.Lock()
	left := s.turns.leave(t)
	s.mu.Unlock()
	if !left {
		s.free()
	}
	return err
}

// free gives a place back.
func (s *Spawner) free() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns.free++
	s.grant()
}

// again grants the turns whose time has come.
func (s *Spawner) again() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grant()
}

// grant wakes the starts whose turn has come. The mutex is held.
func (s *Spawner) grant() {
	for {
		t, wait := s.turns.next(time.Now())
		if t != nil {
			close(t.come)
			continue
		}
		if wait > 0 {
			s.later.Reset(wait)
		}
		return
	}
}

// Close refuses further starts and waits until every child is gone, within ctx. It ends no child:
// the owner of a child does. If ctx ends first, the thread lives on until the last child is gone.
func (s *Spawner) Close(ctx context.Context) error {
	s.close()
	select {
	case <-s.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("children still running: %w", ctx.Err())
	}
}

// fork starts the program of a job. It runs on the locked thread.
func (s *Spawner) fork(j *job) (*Child, error) {
	if err := j.ctx.Err(); err != nil {
		j.free()
		return nil, err
	}
	pipes, err := openPipes()
	if err != nil {
		j.free()
		return nil, startFailed(CauseStart, explainEMFILE(err))
	}
	group, err := s.contain(j)
	if err != nil {
		j.free()
		pipes.closeTheirs()
		pipes.closeOurs()
		return nil, startFailed(CauseStart, fmt.Errorf("control group: %w", explainEMFILE(err)))
	}
	pidfd := -1
	attr := &syscall.ProcAttr{
		Dir: j.spec.Dir, Env: j.env, Files: pipes.theirs(), Sys: attributes(nil, group.FD()),
	}
	if s.pidfd {
		attr.Sys = attributes(&pidfd, group.FD())
	}
	if s.o.Daemon && s.watcher == nil {
		s.watcher = watch(s.o.Instance, s.orphans, s.o.Report)
	}
	entry := InstanceVariable + "=" + j.mark
	var pid int
	limited := group.Around(thread(), func() {
		s.orphans.fork(entry, func() int {
			pid, _, err = syscall.StartProcess(j.path,
				append([]string{j.spec.Command}, j.spec.Args...), attr)
			return pid
		})
	})
	pipes.closeTheirs()
	if err == nil && pid == 0 {
		err = limited
	}
	if err != nil {
		j.free()
		group.Remove(0)
		pipes.closeOurs()
		if errors.Is(err, syscall.ENOENT) && executable(absolute(j.path, j.spec.Dir)) == nil {
			err = errNoInterpreter
		}
		return nil, startError(j.spec.Command, explainEMFILE(err))
	}
	timer := time.AfterFunc(SettleTime, j.free)
	child := newChild(j.spec, newHandle(pid, pidfd, s.group), pipes, func() { timer.Stop(); j.free() })
	child.trace = trace{s.orphans, s.watcher, s.watcher.add(child.h), entry}
	child.group = group
	// This comes before run, which reaps: until then the process id is surely the child's.
	err = errors.Join(limited, limit(pid, j.spec))
	s.children.Add(1)
	go child.run(s.children.Done) // owner: the spawner, whose Close waits
	if err != nil {
		child.discard()
		return nil, startFailed(CauseStart, fmt.Errorf("limits of process %d: %w", pid, err))
	}
	return child, nil
}

// contain makes the control group of a program; nil if it needs none or none can be made.
func (s *Spawner) contain(j *job) (*cgroup.Group, error) {
	l := cgroup.Limits{Memory: j.spec.Memory, Processes: j.spec.Processes}
	if s.limits == nil || l == (cgroup.Limits{}) {
		return nil, nil
	}
	return s.limits.New(j.mark, l)
}

// Lacks returns why limits of a Spec that need control groups are not enforced here, nil if they
// are.
func (s *Spawner) Lacks(spec Spec) error { return lacks(s.limits, s.lacking, spec) }

// Lacks returns what Spawner.Lacks would return if this process were a daemon.
func Lacks(spec Spec) error {
	tree, err := cgroup.Find()
	return lacks(tree, err, spec)
}

func lacks(tree *cgroup.Tree, cause error, spec Spec) error {
	l := cgroup.Limits{Memory: spec.Memory, Processes: spec.Processes}
	switch {
	case l == cgroup.Limits{}:
		return nil
	case tree == nil:
		return cause
	}
	return tree.Lacks(l)
}

// lookup finds a variable in an environment list.
func lookup(env []string, name string) string {
	for _, entry := range env {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			return v
		}
	}
	return ""
}
