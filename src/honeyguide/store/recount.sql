-- Count anew what is relevant, by another threshold, and what is in which language.
UPDATE visits SET relevant = typeof(verdict) IN ('real', 'integer')
  AND verdict BETWEEN ? AND 1 WHERE verdict IS NOT NULL;
DELETE FROM counters WHERE name IN ('relevant', 'tongue');
INSERT INTO counters SELECT 'tongue', tongue, count(*) FROM visits
  WHERE has_page AND typeof(tongue) = 'text' AND tongue != '' GROUP BY tongue;
INSERT INTO counters SELECT 'relevant', '', count(*) FROM visits WHERE relevant;
INSERT INTO counters SELECT 'relevant', generation, count(*) FROM visits
  WHERE relevant GROUP BY generation;
UPDATE hosts SET relevant =
  (SELECT count(*) FROM visits WHERE visits.host = hosts.id AND visits.relevant);
DELETE FROM curve;
