/** What waits, longest first: why, since when, and what ends it. */
import type { Row } from './api.ts'
import { isFiltered } from './names.ts'
import { Age, CommandLine, ListView, ObjectLink } from './parts.tsx'
import { useList } from './use-list.ts'
import type { ViewInput } from './view-input.ts'

export function Waiting({ query, version, now }: ViewInput) {
  const loaded = useList('waiting', query, version('waiting'))
  const longest = Math.max(...(loaded.data?.items ?? []).map(({ since }) => (since ? now - Date.parse(since) : 0)), 1)
  return (
    <ListView
      loaded={loaded}
      selected={query['state']}
      empty={isFiltered(query) ? <p>Nothing that matches the filter waits.</p> : <NothingWaits />}
    >
      {(rows: Row<'waiting'>[]) => (
        <ol class="waits">
          {rows.map((row) => (
            <Wait key={row.id} row={row} now={now} longest={longest} />
          ))}
        </ol>
      )}
    </ListView>
  )
}

function Wait({ row, now, longest }: { row: Row<'waiting'>; now: number; longest: number }) {
  const { object, volume, cause, message, since, blocker, remedy } = row
  const age = since === undefined ? 0 : now - Date.parse(since)
  return (
    <li tabIndex={-1} data-row>
      <div class="wait-age">
        <Age since={since} now={now} />
        <meter min={0} max={longest} value={age} aria-hidden="true" />
      </div>
      <div class="wait-text">
        <h2>
          <ObjectLink object={object} />
          {volume !== undefined && <span class="quiet">, volume {volume}</span>}
        </h2>
        <p class="why">
          <span class="cause">{cause}</span> {message}
        </p>
        <p class="remedy">
          {remedy.text}
          {blocker && (
            <>
              {' — see '}
              <ObjectLink object={blocker} />
            </>
          )}
        </p>
        {remedy.command !== undefined && <CommandLine command={remedy.command} />}
      </div>
    </li>
  )
}

function NothingWaits() {
  return (
    <>
      <p class="large">Nothing waits.</p>
      <p>Every workload with a claim is beside its data, or may be placed there.</p>
    </>
  )
}
