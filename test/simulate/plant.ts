// `npm run simulate:faults`: plants each fault of planted-faults.ts into a copy of src, runs the simulation against it, and prints which
// faults it finds. `--steps N` limits the run of each fault; `--only N` plants one.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type PlantedFault, plantedFaults } from './planted-faults.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    steps: { type: 'string', default: '40000' },
    // Guarantees that the code breaks without a planted fault.
    ignore: { type: 'string', default: '' },
    only: { type: 'string' },
  },
})
// Of 20 faults, 18 must be found.
const SHARE = 0.9
const root = join(import.meta.dirname, '../..')
const copy = mkdtempSync(join(tmpdir(), 'lodestone-faults-'))
try {
  for (const path of ['src', 'test/simulate', 'test/random.ts', 'package.json']) {
    mkdirSync(join(copy, 'test'), { recursive: true })
    cpSync(join(root, path), join(copy, path), { recursive: true })
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  process.exitCode = plantAll() ? 0 : 1
} finally {
  rmSync(copy, { recursive: true })
}

function plantAll(): boolean {
  const chosen = values.only === undefined ? plantedFaults : plantedFaults.slice(Number(values.only) - 1).slice(0, 1)
  if (values.only === undefined) {
    const broken = simulate()
    if (broken !== undefined) throw new Error(`the simulation fails without a planted fault: ${broken}`)
  }
  const found = chosen.filter((fault, i) => {
    const guarantee = plant(fault)
    console.log(
      `${guarantee === undefined ? '✗ not found' : '✔ found    '} ${i + 1}. ${fault.breaks}: ${guarantee ?? ''}`,
    )
    return guarantee !== undefined
  })
  console.log(`${found.length} of ${chosen.length} planted faults found`)
  return found.length >= SHARE * chosen.length
}

// Returns the guarantee that the fault breaks. Throws if the fault does not fit src any more.
function plant({ file, search, replacement }: PlantedFault): string | undefined {
  const path = join(copy, file)
  const text = readFileSync(path, 'utf8')
  if (text.split(search).length !== 2) throw new Error(`${file}: expected once: ${search}`)
  writeFileSync(
    path,
    text.replace(search, () => replacement),
  )
  try {
    return simulate()
  } finally {
    writeFileSync(path, text)
  }
}

// Returns the broken guarantee; undefined if there is none.
function simulate(): string | undefined {
  const { seed, steps, ignore } = values
  const args = ['--seed', seed, '--steps', steps, '--ignore', ignore, '--no-shrink']
  const { stdout, stderr, status } = spawnSync('node', ['test/simulate/main.ts', ...args], {
    cwd: copy,
    encoding: 'utf8',
  })
  if (status === 0) return undefined
  return /FAILED in world \d+: ([\w-]+)/.exec(stdout)?.[1] ?? `error: ${stderr.slice(0, 500)}`
}
