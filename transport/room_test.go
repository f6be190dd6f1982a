package transport

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Readers wait for room in the order of their arrival. An empty room takes one message, whatever
// its size.
func TestRoomIsTakenInTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := NewByteBudget(100)
		first, holds, got := NewReservation(budget), make([]Reservation, 3), make(chan int, 3)
		if err := first.Take(t.Context(), 500); err != nil {
			t.Fatal(err)
		}
		for i, size := range []int{80, 10, 30} {
			holds[i] = NewReservation(budget)
			go func() {
				if holds[i].Take(t.Context(), size) == nil {
					got <- i
				}
			}()
			synctest.Wait()
		}
		if len(got) != 0 {
			t.Fatal("somebody did not wait")
		}
		first.Free()
		synctest.Wait()
		if a, b := <-got, <-got; a+b != 1 || len(got) != 0 {
			t.Errorf("%d and %d have room, want the first two", a, b)
		}
		holds[0].Free()
		holds[0].Free()
		synctest.Wait()
		if now, most := budget.Used(); len(got) != 1 || now != 40 || most != 500 {
			t.Errorf("%d bytes are taken and %d were at most, %d wait no more", now, most, len(got))
		}
	})
}

// A room admits one message at a time while its owner may have no more.
func TestRoomOfAnOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		owner := &account{limit: 50}
		budget := NewOwnedBudget(100, owner)
		first, next, end := NewReservation(budget), NewReservation(budget), make(chan error, 1)
		if err := first.Take(t.Context(), 60); err != nil {
			t.Fatal(err)
		}
		go func() { end <- next.Take(t.Context(), 10) }() // owner: the test waits for it
		synctest.Wait()
		if len(end) != 0 || owner.used != 60 {
			t.Errorf("%d bytes are counted, and another message is in: %v", owner.used, len(end) != 0)
		}
		first.Free()
		if err := <-end; err != nil || owner.used != 10 {
			t.Errorf("%v, %d bytes are counted", err, owner.used)
		}
		next.Free()
		if owner.used != 0 {
			t.Errorf("%d bytes are counted in the end", owner.used)
		}
	})
}

// A reader that waits because the owner may have no more continues when the owner may, whoever
// released the bytes.
func TestRoomWhoseOwnerMayHaveMoreAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		owner := &account{limit: 50, used: 50}
		budget := NewOwnedBudget(100, owner)
		first, ends := NewReservation(budget), make(chan error, 1)
		if err := first.Take(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		go func() { // owner: the test waits for it
			next := NewReservation(budget)
			defer next.Free()
			ends <- next.Take(t.Context(), 10)
		}()
		synctest.Wait()
		budget.mu.Lock() // guards the owner too
		owner.used -= 50
		budget.mu.Unlock()
		if err := <-ends; err != nil {
			t.Error(err)
		}
		first.Free()
	})
}

// Released bytes are counted before the next reader is admitted, and those of an admitted reader
// before the one after it. So no reader waits in vain, and no two get the same bytes.
func TestRoomCountsBeforeItDecides(t *testing.T) {
	in := func(ctx context.Context, budget *ByteBudget, size int, ends chan<- error) {
		go func() { // owner: the test, which ends ctx
			hold := NewReservation(budget)
			defer hold.Free()
			ends <- hold.Take(ctx, size)
			<-ctx.Done()
		}()
		synctest.Wait()
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		defer end()
		owner, ends := &account{limit: 50}, make(chan error, 5)
		budget := NewOwnedBudget(1000, owner)
		first := NewReservation(budget)
		if err := first.Take(t.Context(), 20); err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{20, 20, 10, 20} {
			in(ctx, budget, size, ends)
		}
		if len(ends) != 1 || owner.used != 40 {
			t.Fatalf("%d have room, %d bytes are counted", len(ends), owner.used)
		}
		first.Free()
		synctest.Wait()
		if len(ends) != 3 || owner.used != 50 {
			t.Errorf("%d have room, %d bytes of %d are counted", len(ends), owner.used, owner.limit)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		defer end()
		owner, ends := &account{limit: 100}, make(chan error, 3)
		budget := NewOwnedBudget(1000, owner)
		in(ctx, budget, 10, ends)
		owner.Count(90)
		in(ctx, budget, 40, ends)
		in(ctx, budget, 40, ends)
		budget.mu.Lock() // guards the owner too
		owner.used -= 50
		budget.mu.Unlock()
		time.Sleep(ownerPoll)
		synctest.Wait()
		if len(ends) != 2 || owner.used != 90 {
			t.Errorf("%d have room, %d bytes of %d are counted", len(ends), owner.used, owner.limit)
		}
	})
}

// A message that would be one too many to wait is refused at once.
func TestRoomWithAQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget, waits := NewQueuedBudget(100, 1), make(chan error, 1)
		budget.Add(100)
		first, second := NewReservation(budget), NewReservation(budget)
		go func() { waits <- first.Take(t.Context(), 10) }() // owner: the test waits for it
		synctest.Wait()
		if err := second.Take(t.Context(), 10); !errors.Is(err, ErrSlowConsumer) {
			t.Errorf("one too many: %v", err)
		}
		budget.Add(-100)
		if err := <-waits; err != nil {
			t.Error(err)
		}
		if err := second.Take(t.Context(), 10); err != nil {
			t.Error(err)
		}
	})
}

// account is that of an owner with a limit in bytes.
type account struct {
	used, limit, within int
	held                bool // no message may go beyond the limit
}

func (a *account) Count(n int)            { a.used += n }
func (a *account) Fits(n int) bool        { return a.used+n <= a.limit }
func (a *account) MayGrow(time.Time) bool { return true }

func (a *account) MayExceed(int, time.Time) bool { return !a.held }
func (a *account) EndExcess()                    { a.within++ }

// A reader that gives up takes no room, and does not block later ones.
func TestRoomIsNotHeldByWhoGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := NewByteBudget(100)
		budget.Add(50)
		ctx, cancel := context.WithCancel(t.Context())
		ends, large, small := make(chan error, 2), NewReservation(budget), NewReservation(budget)
		go func() { ends <- large.Take(ctx, 80) }()
		synctest.Wait()
		go func() { ends <- small.Take(t.Context(), 10) }()
		synctest.Wait()
		cancel()
		if a, b := <-ends, <-ends; !errors.Is(errors.Join(a, b), context.Canceled) ||
			a != nil && b != nil {
			t.Errorf("got %v and %v", a, b)
		}
		large.Free()
		small.Free()
		budget.Add(-50)
		if now, _ := budget.Used(); now != 0 {
			t.Errorf("%d bytes are taken by nobody", now)
		}
		var none Reservation
		if err := none.Take(ctx, 1<<40); err != nil {
			t.Errorf("without a bound: %v", err)
		}
		none.Free()
	})
}

// Messages that have begun and do not all fit grow one after the other, in order of arrival. The
// room then holds one message more than its limit. A message that stops half-way keeps its room,
// and a reader that gives up leaves its turn to the next.
func TestRoomOfMessagesThatGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget, holds := NewByteBudget(100), make([]Reservation, 5)
		for i := range holds {
			holds[i] = NewReservation(budget)
			if err := holds[i].Take(t.Context(), 20); err != nil {
				t.Fatal(err)
			}
		}
		got, failed := make(chan int, len(holds)), make(chan error, 1)
		grow := func(i, size int) {
			go func() { // owner: the test waits for it
				if holds[i].Take(t.Context(), size) == nil {
					got <- i
				}
			}()
			synctest.Wait()
		}
		leaving, leave := context.WithCancel(t.Context())
		grow(1, 40)
		go func() { failed <- holds[2].Take(leaving, 40) }() // owner: the test waits for it
		synctest.Wait()
		grow(3, 40)
		grow(4, 30)
		grow(1, 200) // it has the overdraft until it is done
		if a, b := <-got, <-got; a != 1 || b != 1 || len(got) != 0 {
			t.Fatalf("%d and %d grow, and %d more; want only the first", a, b, len(got))
		}
		if now, _ := budget.Used(); now != 280 {
			t.Errorf("%d bytes are taken", now)
		}
		leave()
		if err := <-failed; !errors.Is(err, context.Canceled) || holds[2].size != 20 {
			t.Errorf("who gave up: %v, and has %d bytes", err, holds[2].size)
		}
		holds[1].Free() // 80 of 100 are taken
		synctest.Wait()
		if a, b := <-got, <-got; min(a, b) != 3 || max(a, b) != 4 {
			t.Errorf("%d and %d grow, want the next one that fits and the one behind it, which has the turn",
				a, b)
		}
		if now, _ := budget.Used(); now != 110 {
			t.Errorf("%d bytes are taken", now)
		}
		for i := range holds {
			holds[i].Free()
		}
		if now, most := budget.Used(); now != 0 || most != 280 || budget.over {
			t.Errorf("%d bytes are taken by nobody, %d were at most", now, most)
		}
	})
}

// A reader that gives up just when its turn comes takes no room, and the turn goes to the next.
func TestTurnOfWhoGivesUp(t *testing.T) {
	for range 500 {
		budget, holds := NewByteBudget(100), make([]Reservation, 3)
		for i := range holds {
			holds[i] = NewReservation(budget)
			if err := holds[i].Take(t.Context(), 30); err != nil {
				t.Fatal(err)
			}
		}
		if err := holds[0].Take(t.Context(), 200); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		waiting.Go(func() {
			_ = holds[1].Take(ctx, 200)
			holds[1].Free()
		})
		waiting.Go(func() {
			if err := holds[2].Take(t.Context(), 300); err != nil {
				t.Error(err)
			}
			holds[2].Free()
		})
		waiting.Go(cancel)
		holds[0].Free()
		waiting.Wait()
		if now, _ := budget.Used(); now != 0 || budget.over {
			t.Fatalf("%d bytes are taken by nobody, overdraft %t", now, budget.over)
		}
	}
}
