/** Odd YAML with what kubectl reads. test/e2e/yaml.e2e.test.ts proves the answers, and the tests of the reader use them. */
import { readFileSync } from 'node:fs'

interface RecordedYaml {
  name: string
  text: string
  /** The documents that are not null. Absent if kubectl rejects the text. */
  documents?: unknown[]
  rejected?: true
}

export const recorded: RecordedYaml[] = JSON.parse(readFileSync('test/data/yaml/kubectl.json', 'utf8'))
