/** The form of a question: a row for each change that is supposed. */
import { useRef } from 'preact/hooks'
import type { Taint } from '../api/node.ts'
import { MAX_SUPPOSITIONS, TAINT_EFFECTS } from '../core/what-if/supposition.ts'
import { makeRow, type QuestionRow, ROW_KINDS } from './question.ts'

export interface QuestionFormInput {
  rows: readonly QuestionRow[]
  onRows: (rows: QuestionRow[]) => void
  /** The row with a problem, which counts from 0. */
  invalidRow: number | undefined
  /** The id of the element with the problem. */
  problemId: string
  /** The namespace of objects without one. */
  namespace: string
}

export function QuestionRows({ rows, onRows, invalidRow, problemId, namespace }: QuestionFormInput) {
  const addButton = useRef<HTMLButtonElement>(null)
  const added = useRef<number>(undefined)
  const add = () => {
    const row = makeRow()
    added.current = row.id
    onRows([...rows, row])
  }
  const remove = ({ id }: QuestionRow) => {
    const left = rows.filter((row) => row.id !== id)
    onRows(left.length > 0 ? left : [makeRow()])
    addButton.current?.focus()
  }
  return (
    <>
      {rows.map((row, i) => (
        <fieldset
          key={row.id}
          class={i === invalidRow ? 'supposition invalid' : 'supposition'}
          aria-describedby={i === invalidRow ? problemId : undefined}
        >
          <legend>Change {i + 1}</legend>
          <span>
            <label for={`kind-${row.id}`}>What if</label>{' '}
            <select
              id={`kind-${row.id}`}
              ref={(element) => {
                if (element === null || added.current !== row.id) return
                added.current = undefined
                element.focus()
              }}
              value={row.kind}
              onChange={({ currentTarget: { value } }) =>
                onRows(rows.with(i, { ...row, kind: value as QuestionRow['kind'] }))
              }
            >
              {Object.entries(ROW_KINDS).map(([kind, { words }]) => (
                <option key={kind} value={kind}>
                  {words}
                </option>
              ))}
            </select>
          </span>
          <Fields row={row} onRow={(changed) => onRows(rows.with(i, changed))} namespace={namespace} />
          <button type="button" aria-label={`Remove change ${i + 1}`} onClick={() => remove(row)}>
            Remove
          </button>
        </fieldset>
      ))}
      <p class="actions">
        <button ref={addButton} type="button" disabled={rows.length >= MAX_SUPPOSITIONS} onClick={add}>
          Add a change
        </button>
        {rows.length >= MAX_SUPPOSITIONS && (
          <span class="quiet">A question has at most {MAX_SUPPOSITIONS} changes; the command takes more.</span>
        )}
      </p>
    </>
  )
}

interface FieldsInput {
  row: QuestionRow
  onRow: (row: QuestionRow) => void
  namespace: string
}

/** The fields of each kind of change. */
function Fields({ row, onRow, namespace }: FieldsInput) {
  const field = (
    name: 'cluster' | 'key' | 'value' | 'source' | 'clusters' | 'object',
    label: string,
    { list, placeholder }: { list?: string; placeholder?: string } = {},
  ) => (
    <label>
      {label}{' '}
      <input
        list={list}
        placeholder={placeholder}
        required={ROW_KINDS[row.kind].needs.includes(name)}
        value={row[name]}
        onInput={({ currentTarget: { value } }) => onRow({ ...row, [name]: value })}
      />
    </label>
  )
  const cluster = field('cluster', 'Cluster', { list: 'clusters' })
  const key = field('key', 'Key', { placeholder: 'maintenance' })
  const source = field('source', 'DataSource', { list: 'sources' })
  switch (row.kind) {
    case 'clusterLost':
      return cluster
    case 'untainted':
      return (
        <>
          {cluster} {key}
        </>
      )
    case 'tainted':
      return (
        <>
          {cluster} {key} {field('value', 'Value')}{' '}
          <span>
            <label for={`effect-${row.id}`}>Effect</label>{' '}
            <select
              id={`effect-${row.id}`}
              value={row.effect}
              onChange={({ currentTarget: { value } }) => onRow({ ...row, effect: value as Taint['effect'] })}
            >
              {TAINT_EFFECTS.map((effect) => (
                <option key={effect}>{effect}</option>
              ))}
            </select>
          </span>
        </>
      )
    case 'dataMoved':
      return (
        <>
          {source} {field('clusters', 'To clusters', { list: 'clusters', placeholder: 'member1, member3' })}
        </>
      )
    case 'sourceStale':
      return source
    case 'deleted':
      return (
        <>
          {field('object', 'Object', { placeholder: 'deployment/trainer' })}{' '}
          <span class="quiet">in namespace {namespace}, if its kind has one</span>
        </>
      )
    case 'applied':
      return (
        <label class="manifests">
          Manifests or policies, in namespace {namespace} if they have none
          <textarea
            rows={4}
            required
            spellcheck={false}
            value={row.text}
            onInput={({ currentTarget: { value } }) => onRow({ ...row, text: value })}
          />
        </label>
      )
    default:
      throw new Error(`unknown kind ${row.kind satisfies never}`)
  }
}
