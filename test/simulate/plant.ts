// `npm run simulate:faults`: plants each fault of planted-faults.ts into a copy of src, runs the simulation against it, and prints which
// faults it finds. A fault is found if it breaks one of its guarantees, which the code keeps without the fault in the same steps. `--steps N`
// limits the run of each fault; `--only N` plants one.
import { spawnSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type PlantedFault, plantedFaults } from './planted-faults.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    steps: { type: 'string', default: '100000' },
    only: { type: 'string' },
  },
})
// So many faults must be found.
const MIN_FOUND = 20
const root = join(import.meta.dirname, '../..')
const copy = mkdtempSync(join(tmpdir(), 'lodestone-faults-'))
try {
  for (const path of ['src', 'test/simulate', ...globSync('test/*.ts', { cwd: root }), 'package.json']) {
    mkdirSync(join(copy, 'test'), { recursive: true })
    cpSync(join(root, path), join(copy, path), { recursive: true })
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  process.exitCode = plantAll() ? 0 : 1
} finally {
  rmSync(copy, { recursive: true })
}

function plantAll(): boolean {
  const broken = simulate()
  if (broken.length > 0)
    console.log(`without a planted fault, these guarantees are broken, and do not count: ${broken}`)
  const numbered = plantedFaults.map((fault, i) => ({ fault, number: i + 1 }))
  const chosen = numbered.filter(({ number }) => values.only === undefined || number === Number(values.only))
  const found = chosen.filter(({ fault, number }) => {
    const guarantees = fault.guarantees.filter((guarantee) => !broken.includes(guarantee))
    const guarantee = plant(fault, guarantees)
    console.log(
      `${guarantee === undefined ? '✗ not found' : '✔ found    '} ${number}. ${fault.breaks}: ${guarantee ?? ''}`,
    )
    return guarantee !== undefined
  })
  console.log(`${found.length} of ${chosen.length} planted faults found`)
  return found.length >= Math.min(MIN_FOUND, chosen.length)
}

// Returns which of these guarantees the fault breaks. Throws if the fault does not fit src any more.
function plant({ file, search, replacement }: PlantedFault, guarantees: readonly string[]): string | undefined {
  const path = join(copy, file)
  const text = readFileSync(path, 'utf8')
  if (text.split(search).length !== 2) throw new Error(`${file}: expected once: ${search}`)
  writeFileSync(
    path,
    text.replace(search, () => replacement),
  )
  try {
    return simulate(guarantees).find((guarantee) => guarantees.includes(guarantee))
  } finally {
    writeFileSync(path, text)
  }
}

// Returns the broken guarantees. Ends early when one of `until` is broken.
function simulate(until: readonly string[] = []): string[] {
  const { seed, steps } = values
  const args = ['--seed', seed, '--steps', steps, '--no-shrink', '--stories', '--until', until.join(',')]
  const { stdout, stderr } = spawnSync('node', ['test/simulate/main.ts', ...args], { cwd: copy, encoding: 'utf8' })
  if (!/^simulate: .* steps in /m.test(stdout)) throw new Error(`the simulation ended early: ${stderr.slice(0, 500)}`)
  return [...stdout.matchAll(/^FAILED in world \d+: ([\w-]+)/gm)].map(([, guarantee = '']) => guarantee)
}
