/** What an index is, in one text: two are alike where this is. `i` is pg_index, `c` its class. */
export const indexSignature = `jsonb_build_array(
       (select m.amname from pg_am m where m.oid = c.relam), i.indisunique, i.indclass::text, i.indcollation::text, i.indoption::text,
       array(select pg_get_indexdef(i.indexrelid, n, false) from generate_series(1, i.indnatts) n order by n),
       pg_get_expr(i.indpred, i.indrelid))::text`

/** Of a GIN index on entities, as migration 0018 has it for the search vectors: whoever fills the list of what it has yet to take in waits for all of it. */
export const ginOptions = 'with (gin_pending_list_limit = 512)'

/** Ends the names of an owner's indexes of one sort, so that they are found whatever the owner's key was. */
export const indexHash = (id: string, use: 'sort' | 'contains' | 'gin'): string =>
  `left(encode(sha256(convert_to(${id}::text || '|${use}', 'UTF8')), 'hex'), 8)`

/** What of a key may stand in a name without quotes. */
export const slug = (key: string, length: number): string =>
  `left(regexp_replace(lower(${key}), '[^a-z0-9_]', '_', 'g'), ${length})`

/** An index that a job is to see to. Names hold a-z, 0-9 and _ only; the definition was quoted by the server. */
export interface WantedIndex {
  readonly name: string
  /** Under which it is built while another one has its name. */
  readonly newName: string
  /** What follows \`on mdm.ddm_entity\`. */
  readonly definition: string
}

/** `[{name, newName, definition}]` as the rows above have it. */
export const wantedIndex = (name: string, newName: string, definition: string): string =>
  `jsonb_build_object('name', ${name}, 'newName', ${newName}, 'definition', ${definition})`
