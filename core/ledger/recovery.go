package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"time"
	"unsafe"

	"github.com/penstock-gateway/penstock/core/store"
	"github.com/penstock-gateway/penstock/sdk"
)

// Recovery is what was found in the journals of dead processes, and was made rows of.
type Recovery struct {
	Settled  int // calls that had ended
	Charged  int // calls that may have been sent: charged at their estimate, outcome crashed
	Refunded int // calls that had not been sent: refunded, outcome crashed
	Damaged  int // cells whose checksum is wrong: nothing is known of their calls; the journal was kept aside
}

// Rows is the number of rows.
func (r Recovery) Rows() int { return r.Settled + r.Charged + r.Refunded }

// LogValue names the parts in a log.
func (r Recovery) LogValue() slog.Value {
	return slog.GroupValue(slog.Int("settled", r.Settled), slog.Int("charged", r.Charged), slog.Int("refunded", r.Refunded), slog.Int("damaged", r.Damaged))
}

// Recover makes rows of what dead processes left in the journals of a folder. Journals of processes that live are left
// alone. Where the store does not take the rows, the journals stay as they are.
func Recover(ctx context.Context, dir string, rows Rows, log *slog.Logger) (Recovery, error) {
	var all Recovery
	for n := range maxJournals {
		path := journalPath(dir, n)
		f, err := lock(path, 0)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errLive) {
			continue
		}
		if err != nil {
			return all, errors.New("ledger: " + err.Error())
		}
		done, err := recoverFile(ctx, f, rows)
		f.Close()
		if err != nil {
			return all, fmt.Errorf("ledger: %s: %w", path, err)
		}
		if done != (Recovery{}) {
			log.Warn("ledger: a process ended without closing its journal", "journal", path, "rows", done)
		}
		all = Recovery{all.Settled + done.Settled, all.Charged + done.Charged, all.Refunded + done.Refunded, all.Damaged + done.Damaged}
	}
	return all, nil
}

// recoverFile writes the rows of a journal that is locked, and frees its cells.
func recoverFile(ctx context.Context, f *os.File, to Rows) (Recovery, error) {
	info, err := f.Stat()
	if err != nil {
		return Recovery{}, err
	}
	cells, err := readJournal(f, info.Size())
	if err != nil {
		return Recovery{}, err
	}
	rows, done := leftOver(cells, time.Now())
	for group := range slices.Chunk(rows, groupRows) {
		if _, err := to.InsertRows(ctx, group); err != nil {
			return Recovery{}, err
		}
	}
	if done.Damaged > 0 {
		if err := keepAside(f); err != nil {
			return Recovery{}, err
		}
	}
	return done, freeCells(f, cells)
}

// freeCells frees the cells of a journal that are not.
func freeCells(f *os.File, cells []cell) error {
	for i := range cells {
		if cells[i].state() == free {
			continue
		}
		if _, err := f.WriteAt(make([]byte, unsafe.Sizeof(cells[i].word)), headSize+int64(i)*cellSize); err != nil {
			return err
		}
	}
	return nil
}

// leftOver makes rows of the cells that are not free, in the order in which their calls began.
func leftOver(cells []cell, now time.Time) (rows []store.Row, done Recovery) {
	var open []*cell
	for i := range cells {
		if cells[i].state() != free {
			open = append(open, &cells[i])
		}
	}
	slices.SortFunc(open, func(a, b *cell) int { return cmp.Compare(a.seq(), b.seq()) })
	for _, c := range open {
		call, whole := c.call()
		end := c.end
		switch s := c.state(); {
		case whole && s == ended && end.seq == c.seq() && c.endSum == c.endingSum():
			done.Settled++
		case whole && s == reserved:
			done.Refunded++
			end = crashed(&call, false, now)
		case whole && (s == sent || s == intended):
			done.Charged++
			end = crashed(&call, true, now)
			end.cost = c.made.estimateCost
		default:
			done.Damaged++
			continue
		}
		rows = append(rows, call.row(&end))
	}
	return rows, done
}

// crashed is how a call ended whose process died, but for its cost: what the price was is not in the journal.
func crashed(c *Call, sent bool, now time.Time) ending {
	e := settle(c, Crashed, sdk.Usage{}, sent)
	e.ended = max(now.UnixMicro(), c.Started.UnixMicro())
	return e
}

// keepAside copies a journal beside it, for people to look at.
func keepAside(f *os.File) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	kept, err := os.OpenFile(f.Name()+".damaged", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(kept, f)
	if cerr := kept.Close(); err == nil {
		err = cerr
	}
	return err
}
