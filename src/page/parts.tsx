/** Parts that several views have: times, states, links to objects, empty and failed views. */
import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { formatAge } from '../base/time/duration.ts'
import type { ListPage } from './api.ts'
import { placeOfPage } from './names.ts'
import { changeQuery, objectAddress } from './route.ts'
import type { Loaded } from './use-list.ts'

/** A time as an age, with the exact time in its title. */
export function Age({ since, now }: { since: string | undefined; now: number }) {
  if (since === undefined) return <span class="quiet">not known</span>
  return (
    <time dateTime={since} title={since}>
      {formatAge(now - Date.parse(since))}
    </time>
  )
}

export type Tone = 'fine' | 'waiting' | 'failed' | 'unknown' | 'none'

const SHAPES: Readonly<Record<Tone, string>> = { fine: '●', waiting: '◐', failed: '■', unknown: '▨', none: '○' }

/** A state in words, with a color and a shape. */
export function State({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return (
    <span class={`state ${tone}`}>
      <span aria-hidden="true">{SHAPES[tone]} </span>
      {children}
    </span>
  )
}

interface ObjectName {
  apiVersion?: string
  kind: string
  namespace?: string
  name: string
}

/** A link to the explanation of an object. */
export function ObjectLink({ object, children }: { object: ObjectName; children?: ComponentChildren }) {
  const { kind, namespace, name } = object
  return (
    <a href={objectAddress(object)}>
      {children ?? (
        <>
          <span class="quiet">{kind} </span>
          {namespace === undefined ? name : `${namespace}/${name}`}
        </>
      )}
    </a>
  )
}

/** A command with a button that copies it. */
export function CommandLine({ command }: { command: string }) {
  const code = useRef<HTMLElement>(null)
  const [words, setWords] = useState('Copy')
  const copy = async () => {
    const isCopied = await write(command)
    // The user copies the selected text.
    if (!isCopied && code.current) getSelection()?.selectAllChildren(code.current)
    setWords(isCopied ? 'Copied' : 'Selected')
    setTimeout(() => setWords('Copy'), 1500)
  }
  return (
    <span class="command">
      <code ref={code}>{command}</code>
      <button
        type="button"
        onClick={() => void copy()}
        aria-label={`${words === 'Copy' ? 'Copy' : `${words}:`} the command ${command}`}
      >
        {words}
      </button>
    </span>
  )
}

/** Returns whether the text is in the clipboard. Over HTTP a browser has none, and a user may not allow it. */
async function write(text: string): Promise<boolean> {
  const { clipboard } = navigator as Partial<Navigator>
  if (!clipboard) return false
  return clipboard.writeText(text).then(
    () => true,
    () => false,
  )
}

/** The number of rows in each state, as filters. */
function States({
  states = {},
  selected,
}: {
  states: Record<string, number> | undefined
  selected: string | undefined
}) {
  const counts = Object.entries(states)
  if (counts.length < 2 && selected === undefined) return null
  return (
    <div class="states">
      {counts.map(([state, count]) => (
        <button
          type="button"
          key={state}
          aria-pressed={selected === state}
          onClick={() => changeQuery({ state: selected === state ? undefined : state, offset: undefined })}
        >
          <strong>{count.toLocaleString('en')}</strong> {state}
        </button>
      ))}
    </div>
  )
}

/** Shown while the first answer is awaited; not at all if it comes soon. */
export function Reading() {
  return (
    <p class="reading" role="status">
      Reading…
    </p>
  )
}

/** Why the last read failed. What was read before stays, and is old. */
export function Problem({ what, isOld, problem }: { what: string; isOld: boolean; problem: string | undefined }) {
  if (problem === undefined) return null
  return (
    <p class="notice failed" role="alert">
      {isOld ? `${what} is old: ${problem}` : problem}
    </p>
  )
}

/** Shows the rows of a list, or why there are none. A failed read keeps the last rows, and says so. */
export function ListView<Row extends object>({
  loaded,
  selected,
  empty,
  children,
}: {
  loaded: Loaded<Pick<ListPage<never>, 'total' | 'offset' | 'states' | 'notice'> & { items: Row[] }>
  /** The state that the address selects. */
  selected?: string | undefined
  empty: ComponentChildren
  children: (rows: Row[]) => ComponentChildren
}) {
  const { data, problem, isBusy } = loaded
  return (
    <div class="list" aria-busy={isBusy ? 'true' : undefined}>
      <Problem what="This list" isOld={data !== undefined} problem={problem} />
      {!data && problem === undefined && <Reading />}
      {data?.notice && <p class="quiet">{data.notice}</p>}
      <States states={data?.states} selected={selected} />
      {data && data.total === 0 && <div class="empty">{empty}</div>}
      {data && data.total > 0 && (
        <>
          {data.items.length > 0 && children(data.items)}
          <Pages total={data.total} offset={data.offset} shown={data.items.length} />
        </>
      )}
    </div>
  )
}

function Pages({ total, offset, shown }: { total: number; offset: number; shown: number }) {
  if (offset === 0 && shown === total) return null
  const { text, previous, next } = placeOfPage({ total, offset, shown, limit: 100 })
  const show = (at = 0) => changeQuery({ offset: at > 0 ? String(at) : undefined }, { replace: false })
  return (
    <nav class="pages" aria-label="Pages of the list">
      <button type="button" disabled={previous === undefined} onClick={() => show(previous)}>
        Previous
      </button>
      <span>{text}</span>
      <button type="button" disabled={next === undefined} onClick={() => show(next)}>
        Next
      </button>
    </nav>
  )
}

/** A table that scrolls within its view. Its head is a row of titles, unless the view has its own. */
export function Table({
  label,
  titles,
  head,
  children,
}: {
  label: string
  titles?: readonly string[]
  head?: ComponentChildren
  children: ComponentChildren
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a user without a mouse scrolls it by its focus
    <section class="scroll" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          {head}
          {titles && (
            <tr>
              {titles.map((title) => (
                <th scope="col" key={title}>
                  {title}
                </th>
              ))}
            </tr>
          )}
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  )
}
