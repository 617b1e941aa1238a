/** A term that a rule gives to a text. */
export interface MatchedTerm {
  readonly ruleId: string
  readonly termId: string
  readonly path: string
  /** 0 to 1. */
  readonly score: number
}

/** The words of a pattern in the text's own configuration, any of which is enough. */
const anyOfWords = `(select string_agg('''' || replace(replace(w, '\\', '\\\\'), '''', '''''') || '''', ' | ')
                 from unnest(tsvector_to_array(to_tsvector(f.config, r.pattern))) w)::tsquery`
const rank = (query: string): string =>
  `(select ts_rank(f.words, q, 32) from (select ${query} as q) as asked where f.words @@ q)`

/**
 * The CTEs `text` and `matched`: each rule of the tenant $1 that is in force and keeps to \`which\`, with its score for the text $3 in the language $2,
 * the title $4 and the file name $5; null: it does not match. Stemmed in the text's language; the expressions are PostgreSQL's.
 */
export function taxonomyMatches(which: string): string {
  return `with text as materialized (
  select f.field, left(f.content, 1000000) as content, left(f.content, 4096) as beginning, mdm.document_language($2) as config,
         mdm.document_vector($2, null, f.content) as words
    from (values ('content', $3), ('title', coalesce($4, '')), ('filename', $5)) f(field, content)),
matched as materialized (
  select r.id as rule_id, r.term_id,
         (case r.match_type
           when 'any' then ${rank(anyOfWords)}
           when 'all' then ${rank('plainto_tsquery(f.config, r.pattern)')}
           when 'exact' then ${rank('phraseto_tsquery(f.config, r.pattern)')}
           when 'regex' then (case when mdm.matches_pattern(f.content, r.pattern) then 1 end)
           when 'fuzzy' then (select n from mdm.word_nearness(lower(r.pattern), lower(f.beginning)) n where n >= coalesce(r.min_score, 0.85))
         end)::real as score
    from mdm.taxonomy_rule r join text f on f.field = r.field
   where r.tenant_id = $1::uuid and r.enabled and ${which})`
}
